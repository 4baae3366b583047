namespace IoUringCache.Caching.Storage;

/// <summary>Hashes of keys that were dropped not long ago, oldest first out. Not thread-safe.</summary>
internal sealed class GhostQueue
{
    /// <summary>Remembered in any case: with few large objects a ghost for each would forget at once.</summary>
    private const int SmallestCapacity = 1024;

    private readonly Queue<(int Hash, long Number)> _order = new();

    /// <summary>The latest number of each hash. What is in the queue under another one has been taken out, or come again.</summary>
    private readonly Dictionary<int, long> _numbers = [];
    private long _next;

    public void Add(int hash, int capacity)
    {
        _order.Enqueue((hash, _next));
        _numbers[hash] = _next++;
        while (_order.Count > Math.Max(capacity, SmallestCapacity))
        {
            (int oldest, long number) = _order.Dequeue();
            if (_numbers.GetValueOrDefault(oldest, -1) == number)
            {
                _numbers.Remove(oldest);
            }
        }
    }

    /// <summary>Forgets a hash; false if it is not known.</summary>
    public bool Remove(int hash) => _numbers.Remove(hash);
}
