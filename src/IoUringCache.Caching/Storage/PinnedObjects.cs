namespace IoUringCache.Caching.Storage;

/// <summary>
/// The objects that nobody but their readers keeps, and the limit on their bytes: over it, the readers that lag most are cut, until the
/// rest fits when the cut ones have left. Readers of what is stored or being received are never looked at. Any thread; one per service.
/// </summary>
internal sealed class PinnedObjects(long limit) : IThreadPoolWorkItem
{
    private readonly Lock _lock = new();
    private readonly HashSet<IPinned> _all = [];
    private long _bytes;
    private int _isScheduled;

    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Told of how many readers were cut.</summary>
    public Action<int>? Cut { get; set; }

    /// <summary>Another limit from now on, from when the next object comes.</summary>
    public void Limit(long bytes) => Volatile.Write(ref limit, bytes);

    /// <summary>From now on only readers keep it. May be called under locks: cutting is left to the thread pool.</summary>
    public void Add(IPinned entry)
    {
        lock (_lock)
        {
            if (_all.Add(entry))
            {
                Volatile.Write(ref _bytes, _bytes + entry.Weight);
            }
        }

        if (Bytes > limit && Interlocked.Exchange(ref _isScheduled, 1) == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Its last reader has left.</summary>
    public void Remove(IPinned entry)
    {
        lock (_lock)
        {
            if (_all.Remove(entry))
            {
                Volatile.Write(ref _bytes, _bytes - entry.Weight);
            }
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        // First the flag: what is added from here on schedules anew.
        Interlocked.Exchange(ref _isScheduled, 0);
        Enforce();
    }

    /// <summary>Cuts as many readers as it takes. Holds no lock while it looks for them.</summary>
    public void Enforce()
    {
        List<IPinned> all;
        long excess;
        lock (_lock)
        {
            (all, excess) = ([.. _all], _bytes - limit);
        }

        List<(IPinned Source, PinnedReader Reader)> readers = [];
        Dictionary<IPinned, int> readersLeft = [];
        foreach (IPinned entry in all)
        {
            List<PinnedReader> its = entry.GetReaders();
            readers.AddRange(its.Select(reader => (entry, reader)));
            readersLeft[entry] = its.Count;

            // What has only readers that are leaving is as good as free.
            excess -= its.Count == 0 ? entry.Weight : 0;
        }

        readers.Sort(static (one, other) => other.Reader.Lag.CompareTo(one.Reader.Lag));
        int cut = 0;
        foreach ((IPinned source, PinnedReader reader) in readers.TakeWhile(_ => excess > 0))
        {
            cut += source.TryCut(reader.Reader) ? 1 : 0;
            excess -= --readersLeft[source] == 0 ? source.Weight : 0;
        }

        if (cut > 0)
        {
            Cut?.Invoke(cut);
        }
    }
}

/// <summary>What only readers keep in memory. Any thread.</summary>
internal interface IPinned
{
    /// <summary>Bytes that are free when the last reader has left.</summary>
    long Weight { get; }

    /// <summary>Every reader that has not been cut, at this moment.</summary>
    List<PinnedReader> GetReaders();

    /// <summary>Ends a reader's answer visibly; false if it has left, or was cut before.</summary>
    bool TryCut(ReaderLink reader);
}

/// <summary>A reader of something that only readers keep, at one moment. Immutable.</summary>
/// <param name="Lag">Bytes that it still has before it.</param>
internal readonly record struct PinnedReader(ReaderLink Reader, long Lag);
