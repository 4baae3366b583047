using System.Runtime.InteropServices;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// What lies where: the segments, the index, and what becomes of copies. Any thread; one per service. Its lock may be taken under the
/// store's; under it only that of the pending removals is taken.
/// <para>
/// The order that keeps a wrong byte from being found: the index forgets a copy first; then its header is overwritten, under a pin, so that
/// the segment cannot be used again before that is done; and a segment is used again only without pins, its first block, by which all of its
/// headers become those of an earlier use, being written before anything else of the new one.
/// </para>
/// </summary>
/// <param name="maxTagBytes">Memory of the copies' tags above which the oldest segment makes room.</param>
internal sealed class DiskCatalog(IReadOnlyList<Segment> segments, long maxTagBytes, IFileQueue files, DiskMetrics metrics, ILogger log)
{
    /// <summary>Copies that are looked at while others wait for the lock, and whose headers are overwritten at a time.</summary>
    private const int RemovalStep = 256;

    private readonly Lock _lock = new();
    private readonly DiskIndex _index = new();

    private readonly Dictionary<Segment, SegmentCopies> _written = [];
    private readonly PendingRemovals _removals = new();
    private Segment? _current;

    public int Count => _index.Count;

    public TagAccount Tags => _index.Tags;

    /// <summary>All that has a place lies before this one; what gets one from now on does not.</summary>
    public DiskPlace NextPlace
    {
        get
        {
            lock (_lock)
            {
                return _current is { } current ? new(current.Sequence, current.Used) : new(segments.Max(segment => segment.Sequence) + 1, 0);
            }
        }
    }

    /// <summary>Lists a copy of an object that is going to be written, and tells the object of it. Under the store's lock.</summary>
    public DiskCopy Add(CachedObject entry)
    {
        DiskCopy copy = new(DiskIndex.HashOf(entry.Key), DiskIndex.HashOf(entry.VariantKey)) { Stamp = entry.Stamp, ReceivedAt = entry.ReceivedAt };
        lock (_lock)
        {
            _index.Add(copy);
        }

        entry.Below = copy;
        return copy;
    }

    /// <summary>Lists a copy that was found at the start, in the place of older ones of its key and variant.</summary>
    public void AddFound(DiskCopy found)
    {
        lock (_lock)
        {
            RemoveAll(found.KeyHash, older => older.VariantHash == found.VariantHash);
            found.State = CopyState.Stored;
            WrittenIn(found.Segment!).Add(found);
            _index.Add(found);
        }
    }

    /// <summary>Whether something under this hash may be read. Looks at memory alone.</summary>
    public bool Has(int keyHash)
    {
        lock (_lock)
        {
            return _index.Find(keyHash).Exists(copy => copy.State == CopyState.Stored);
        }
    }

    /// <summary>What can be read under a hash, the latest first, each with a pin that the caller gives back. What is of no use goes.</summary>
    public List<DiskCopy> Pin(int keyHash, DateTime now)
    {
        lock (_lock)
        {
            List<DiskCopy> stored = _index.Find(keyHash).FindAll(copy => copy.State == CopyState.Stored);
            foreach (DiskCopy useless in stored.Where(copy => copy.KeptUntil <= now || copy.Stamp.IsPurged))
            {
                Forget(useless);
                metrics.Dropped(DropReason.Stale);
            }

            stored.RemoveAll(copy => copy.State == CopyState.Gone);
            stored.ForEach(copy => copy.Segment!.Pins++);
            return stored;
        }
    }

    public void Unpin(Segment segment)
    {
        lock (_lock)
        {
            segment.Pins--;
        }
    }

    /// <summary>
    /// Removes copies of a key's hash, and returns how many no earlier purge had hit. Of another key with the same hash they are no loss.
    /// </summary>
    public int Remove(int keyHash, Predicate<DiskCopy> isMeant)
    {
        lock (_lock)
        {
            return RemoveAll(keyHash, isMeant);
        }
    }

    /// <summary>
    /// Removes copies wherever they lie, some at a time, and ends when no later process finds any of them. Those that get a place meanwhile may
    /// not be met.
    /// </summary>
    public async Task RemoveAsync(Predicate<DiskCopy> isMeant)
    {
        foreach (Segment segment in segments)
        {
            for (int from = 0; TryRemoveSome(segment, from, isMeant); from += RemovalStep)
            {
                await SettledAsync();
            }
        }

        // What was in a segment that is being used again was forgotten before this has looked there.
        await SettledAsync();
    }

    /// <summary>Removes a copy that is of no use, and counts why. Nothing happens if it is gone already.</summary>
    public void Drop(DiskCopy copy, DropReason reason)
    {
        lock (_lock)
        {
            if (copy.State == CopyState.Gone)
            {
                return;
            }

            Forget(copy);
        }

        metrics.Dropped(reason);
    }

    /// <summary>Ends when all that has been removed by now cannot be found again by a later process either.</summary>
    public Task SettledAsync()
    {
        lock (_lock)
        {
            return _removals.SettledAsync();
        }
    }

    /// <summary>
    /// Where the next object goes: the writer's, and nobody reads there before it is stored. <see langword="null"/> if the segment that
    /// would be used again has pins or is kept, or none is left.
    /// </summary>
    /// <param name="areaBytes">Of the object; it fits into an empty segment.</param>
    /// <param name="keptFrom">Segments with this sequence or a later one are kept.</param>
    /// <exception cref="DiskException">The segment cannot be begun anew, and is not used any more.</exception>
    public async Task<Segment?> FindPlaceAsync(long areaBytes, long keptFrom)
    {
        Segment? oldest;
        TaskCompletionSource begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_lock)
        {
            if (_current is { IsRetired: false } current && current.Used + areaBytes <= current.Bytes && _index.TagBytes <= maxTagBytes)
            {
                return current;
            }

            // The current one, which is the latest, if it is the only one that is left.
            oldest = segments.Where(static segment => !segment.IsRetired).MinBy(static segment => segment.Sequence);
            if (oldest is not { Pins: 0 } || oldest.Sequence >= keptFrom)
            {
                return null;
            }

            WrittenIn(oldest).All.ForEach(ForgetInMemory);
            WrittenIn(oldest).Clear();
            oldest.Begin(segments.Max(segment => segment.Sequence) + 1);
            _current = oldest;

            // Until then a later process finds what this one has forgotten.
            _removals.Add(begun.Task);
        }

        try
        {
            await files.WriteAllAsync(oldest.File, oldest.EncodeStart(), 0);
            return oldest;
        }
        catch (IOException failure)
        {
            Retire(oldest, failure.Message);
            throw;
        }
        finally
        {
            begun.SetResult();
        }
    }

    /// <summary>Whether a copy that is queued is still to be written. What a purge concerns is not, and goes.</summary>
    public bool IsWanted(DiskCopy queued)
    {
        lock (_lock)
        {
            if (queued.Stamp.IsPurged)
            {
                ForgetInMemory(queued);
            }

            return queued.State != CopyState.Gone;
        }
    }

    /// <summary>The body is on the disk: the header may be written, unless the copy has gone, or a purge concerns it.</summary>
    public bool TryBeginSeal(DiskCopy copy, Segment segment, long areaBytes, DateTime keptUntil)
    {
        lock (_lock)
        {
            if (!IsWanted(copy))
            {
                return false;
            }

            (copy.State, copy.KeptUntil) = (CopyState.Sealing, keptUntil);
            (copy.Segment, copy.Offset, copy.AreaBytes) = (segment, segment.Used, areaBytes);
            WrittenIn(segment).Add(copy);
            segment.Used += areaBytes;
            return true;
        }
    }

    /// <summary>The header is on the disk. False, with the header overwritten, if the copy has gone in between.</summary>
    public async Task<bool> EndSealAsync(DiskCopy copy)
    {
        lock (_lock)
        {
            if (copy.State == CopyState.Sealing)
            {
                copy.State = CopyState.Stored;
                return true;
            }
        }

        await OverwriteAsync(copy, copy.Segment!);
        copy.Unsealed?.SetResult();
        return false;
    }

    /// <summary>Nobody knows what of the header is on the disk.</summary>
    public void FailSeal(DiskCopy copy, string reason)
    {
        Retire(copy.Segment!, reason);
        lock (_lock)
        {
            ForgetInMemory(copy);
            copy.Unsealed?.SetResult();
        }
    }

    /// <summary>Nothing more goes into the segment that is being filled, of which a part cannot be written.</summary>
    public void Leave(Segment segment)
    {
        lock (_lock)
        {
            segment.Used = segment.Bytes;
        }
    }

    /// <summary>
    /// The headers of a segment cannot be trusted to be what they should: nothing in it is found any more, in this process because the index
    /// forgets it, and in later ones because the file is gone. Who reads it goes on.
    /// </summary>
    public void Retire(Segment segment, string reason)
    {
        lock (_lock)
        {
            if (segment.IsRetired)
            {
                return;
            }

            segment.IsRetired = true;
            WrittenIn(segment).All.ForEach(ForgetInMemory);
        }

        try
        {
            segment.Delete();
            CacheLog.DiskRetired(log, segment.Path, reason);
        }
        catch (IOException failure)
        {
            CacheLog.DiskNotDeleted(log, segment.Path, failure.Message);
        }
    }

    /// <summary>Under the lock.</summary>
    private SegmentCopies WrittenIn(Segment segment) => CollectionsMarshal.GetValueRefOrAddDefault(_written, segment, out _) ??= new();

    /// <summary>False when there is nothing from there on.</summary>
    private bool TryRemoveSome(Segment segment, int from, Predicate<DiskCopy> isMeant)
    {
        lock (_lock)
        {
            SegmentCopies written = WrittenIn(segment);
            if (from >= written.PlaceCount)
            {
                return false;
            }

            written.In(from, RemovalStep).FindAll(isMeant).ForEach(Forget);
            return true;
        }
    }

    private int RemoveAll(int keyHash, Predicate<DiskCopy> isMeant)
    {
        List<DiskCopy> meant = _index.Find(keyHash).FindAll(isMeant);
        int found = meant.Count(static copy => copy.IsThere);
        meant.ForEach(Forget);
        return found;
    }

    /// <summary>Under the lock: out of the index, and off the disk as soon as that can be.</summary>
    private void Forget(DiskCopy copy)
    {
        CopyState state = copy.State;
        ForgetInMemory(copy);
        switch (state)
        {
            case CopyState.Sealing:
                copy.Unsealed = new(TaskCreationOptions.RunContinuationsAsynchronously);
                _removals.Add(copy.Unsealed.Task);
                break;
            case CopyState.Stored:
                _removals.Add(OverwriteAsync(copy, copy.Segment!));
                break;
        }
    }

    /// <summary>Under the lock: the disk is somebody else's business.</summary>
    private void ForgetInMemory(DiskCopy copy)
    {
        if (copy.State != CopyState.Gone)
        {
            _index.Remove(copy);
            copy.State = CopyState.Gone;
            if (copy.Segment is { } segment)
            {
                WrittenIn(segment).Remove(copy);
            }
        }
    }

    private async Task OverwriteAsync(DiskCopy copy, Segment segment)
    {
        ulong nonce;
        lock (_lock)
        {
            segment.Pins++;
            nonce = segment.Nonce;
        }

        try
        {
            await files.WriteBareAsync(segment, RecordKind.Removed, copy.Offset, copy.AreaBytes, nonce);
        }
        catch (IOException failure)
        {
            Retire(segment, failure.Message);
        }
        finally
        {
            Unpin(segment);
        }
    }
}
