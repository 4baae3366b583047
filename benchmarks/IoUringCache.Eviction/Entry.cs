using IoUringCache.Caching.Storage;

namespace IoUringCache.Eviction;

/// <summary>An object of a simulated cache: a key and a weight. One thread.</summary>
internal sealed class Entry(int key, long weight) : IEvictable<Entry>
{
    public int Key => key;

    public long Weight => weight;

    public int KeyHash => key;

    public int Reads { get; set; }

    public LinkedListNode<Entry>? Place { get; set; }
}
