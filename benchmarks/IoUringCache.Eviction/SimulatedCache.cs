namespace IoUringCache.Eviction;

/// <summary>A cache that holds weights and no bytes, and counts. One thread.</summary>
internal sealed class SimulatedCache(IEvictionOrder order, long maxBytes)
{
    private readonly Dictionary<int, Entry> _index = [];
    private long _bytes;
    private long _requests;
    private long _hits;
    private long _requestedBytes;
    private long _hitBytes;

    public double HitRatio => (double)_hits / _requests;

    public double ByteHitRatio => (double)_hitBytes / _requestedBytes;

    public void Request(int key, long weight)
    {
        _requests++;
        _requestedBytes += weight;
        if (_index.TryGetValue(key, out Entry? found))
        {
            _hits++;
            _hitBytes += weight;
            order.Hit(found);
        }
        else if (weight <= maxBytes)
        {
            Insert(new(key, weight));
        }
    }

    private void Insert(Entry entry)
    {
        while (_bytes + entry.Weight > maxBytes)
        {
            Entry victim = order.TakeVictim();
            _index.Remove(victim.Key);
            _bytes -= victim.Weight;
        }

        order.Add(entry);
        _index.Add(entry.Key, entry);
        _bytes += entry.Weight;
    }
}
