namespace IoUringCache.Eviction;

/// <summary>First in, first out, with another round for what was hit (CLOCK).</summary>
internal sealed class SecondChance : IEvictionOrder
{
    private readonly Queue<Entry> _entries = new();

    public void Add(Entry entry) => _entries.Enqueue(entry);

    public void Hit(Entry entry) => entry.Reads = 1;

    public Entry TakeVictim()
    {
        while (true)
        {
            Entry oldest = _entries.Dequeue();
            if (oldest.Reads == 0)
            {
                return oldest;
            }

            oldest.Reads = 0;
            _entries.Enqueue(oldest);
        }
    }
}
