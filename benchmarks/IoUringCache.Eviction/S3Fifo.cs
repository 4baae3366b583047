using IoUringCache.Caching.Storage;

namespace IoUringCache.Eviction;

/// <summary>What the caching service has, its own code.</summary>
internal sealed class S3Fifo : IEvictionOrder
{
    private readonly EvictionQueue<Entry> _queue = new();

    public void Add(Entry entry) => _queue.Add(entry);

    public void Hit(Entry entry) => entry.Reads = Math.Min(entry.Reads + 1, IEvictable<Entry>.MostReads);

    public Entry TakeVictim() => _queue.TryTakeVictim(out Entry? victim) ? victim : throw new InvalidOperationException("The cache is empty.");
}
