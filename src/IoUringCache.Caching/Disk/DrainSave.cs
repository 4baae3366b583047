using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Writes what memory holds to the disk before the process ends, in the order in which it is given the objects. One object is written at a
/// time, out of the memory where it stays, so this needs no memory of its own. Runs once; the writer is its own meanwhile.
/// </summary>
/// <param name="writer">Its task has ended, so the save has it alone.</param>
internal sealed class DrainSave(ObjectStore memory, DiskCatalog catalog, ObjectWriter writer)
{
    /// <summary>The segment that is being filled is used to its end; those begun after it are used once.</summary>
    private readonly long _keptFrom = catalog.NextPlace.Sequence;

    /// <summary>Objects that were on the disk when they were looked at. Their segments may be used again after that.</summary>
    private readonly List<CachedObject> _there = [];

    /// <summary>Of the segment that was being filled when this last looked for lost objects; 0 before that.</summary>
    private long _sequence;

    public int WrittenCount { get; private set; }

    /// <summary>Whether a later process can use an object. A soft purge of its key, which leaves it in memory, ends that.</summary>
    public static bool IsOfUse(CachedObject entry) => entry.IsFresh || entry.IsWorthValidating;

    /// <summary>How an end reads in the log.</summary>
    public static string Explain(SaveEnd end) => end switch
    {
        SaveEnd.Complete => "all have had their turn",
        SaveEnd.OutOfTime => "the time of Cache:DiskSaveOnDrain is over",
        _ => "no segment is left that this drain has not used",
    };

    /// <summary>Writes objects that are not on the disk yet, those that this removes from there included.</summary>
    /// <param name="objects">The most important one first.</param>
    /// <param name="over">Ends it between two writes.</param>
    public async Task<SaveEnd> RunAsync(IEnumerable<CachedObject> objects, CancellationToken over)
    {
        Queue<CachedObject> next = new();
        foreach (CachedObject entry in objects)
        {
            next.Enqueue(entry);
            while (next.TryDequeue(out CachedObject? one))
            {
                if (one.Below?.IsThere == true)
                {
                    _there.Add(one);
                    continue;
                }

                switch (await SaveAsync(one, over))
                {
                    case WriteOutcome.OutOfTime:
                        return SaveEnd.OutOfTime;
                    case WriteOutcome.NoSegment:
                        return SaveEnd.DiskFull;
                }

                TakeLost(next);
            }
        }

        return SaveEnd.Complete;
    }

    private async Task<WriteOutcome> SaveAsync(CachedObject entry, CancellationToken over)
    {
        if (memory.CopyBelow(entry, stored => IsOfUse(stored) ? catalog.Add(stored) : null) is not { } copy)
        {
            return WriteOutcome.Dropped;
        }

        WriteOutcome outcome = await writer.WriteAsync(entry, copy, _keptFrom, over);
        WrittenCount += outcome == WriteOutcome.Written ? 1 : 0;
        return outcome;
    }

    /// <summary>A segment has been begun anew: objects that were in it come before those that follow, which are requested less.</summary>
    private void TakeLost(Queue<CachedObject> next)
    {
        long sequence = catalog.NextPlace.Sequence;
        if (sequence == _sequence)
        {
            return;
        }

        _sequence = sequence;
        foreach (CachedObject lost in _there.Where(static entry => !entry.Below!.IsThere))
        {
            next.Enqueue(lost);
        }

        _there.RemoveAll(static entry => !entry.Below!.IsThere);
    }
}

/// <summary>Why saving memory has ended.</summary>
internal enum SaveEnd
{
    /// <summary>Each object is on the disk or could not be written.</summary>
    Complete,

    OutOfTime,

    DiskFull,
}
