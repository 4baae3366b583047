namespace IoUringCache.Eviction;

/// <summary>Least recently used: each hit moves its entry to the end.</summary>
internal sealed class Lru : IEvictionOrder
{
    private readonly LinkedList<Entry> _entries = new();

    public void Add(Entry entry) => entry.Place = _entries.AddLast(entry);

    public void Hit(Entry entry)
    {
        _entries.Remove(entry.Place!);
        _entries.AddLast(entry.Place!);
    }

    public Entry TakeVictim()
    {
        Entry victim = _entries.First!.Value;
        _entries.RemoveFirst();
        return victim;
    }
}
