namespace IoUringCache.Caching.Storage;

/// <summary>First in, first out, with the sum of the weights. Not thread-safe.</summary>
internal sealed class WeighedQueue<T>
    where T : class, IEvictable<T>
{
    private readonly LinkedList<T> _entries = new();

    public int Count => _entries.Count;

    /// <summary>What all entries weigh.</summary>
    public long Bytes { get; private set; }

    public IEnumerable<T> NewestFirst => _entries.Reverse();

    public bool Has(T entry) => entry.Place?.List == _entries;

    public void Add(T entry)
    {
        entry.Place = _entries.AddLast(entry);
        Bytes += entry.Weight;
    }

    public void Remove(T entry)
    {
        _entries.Remove(entry.Place!);
        entry.Place = null;
        Bytes -= entry.Weight;
    }

    /// <summary>Takes out the first; <see langword="null"/> if there is none.</summary>
    public T? TakeOldest()
    {
        T? oldest = _entries.First?.Value;
        if (oldest is not null)
        {
            Remove(oldest);
        }

        return oldest;
    }
}
