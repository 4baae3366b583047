using System.Diagnostics;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Finds what an earlier process has left: walks through each segment from header to header, some segments at a time, and removes what the
/// journal says was purged. Bodies are not read. Once, before anybody else uses the files.
/// </summary>
internal sealed class DiskScan(
    DiskFiles disk, DiskCatalog catalog, PurgeJournal journal, IFileQueue files, DiskMetrics metrics, PurgeEpochs purges, ILogger log)
{
    /// <summary>Of segments, each of which waits for one read or write at a time.</summary>
    private static readonly ParallelOptions s_some = new() { MaxDegreeOfParallelism = 16 };

    /// <exception cref="OptionException">What is damaged cannot be put right either.</exception>
    public async Task RunAsync(string path)
    {
        long start = Stopwatch.GetTimestamp();
        List<DiskCopy>[] found = new List<DiskCopy>[disk.Segments.Count];
        try
        {
            await Parallel.ForAsync(0, found.Length, s_some, async (index, _) => found[index] = await WalkAsync(disk.Segments[index]));
            await AddAsync([.. found.SelectMany(copies => copies)]);

            // Only now: until what was purged is gone, a process that finds it has to find the purges too.
            await journal.BeginAsync();
        }
        catch (IOException failure)
        {
            throw new OptionException($"Option {DiskOptionCatalog.Path.Name}: {failure.Message}");
        }

        CacheLog.DiskOpened(log, path, catalog.Count, found.Length, (long)Stopwatch.GetElapsedTime(start).TotalMilliseconds);
    }

    /// <summary>Reads a whole header, wherever there should be one.</summary>
    /// <param name="buffer">Pinned memory of a block or more.</param>
    /// <returns>The record where the header is of an object.</returns>
    /// <exception cref="DiskException">There is none, or it is damaged, or cannot be read.</exception>
    public static async Task<(RecordFrame Frame, DiskRecord? Record)> ReadRecordAsync(IFileQueue files, Segment segment, long offset, byte[] buffer)
    {
        await files.ReadAllAsync(segment.File, buffer.AsMemory(0, DiskLayout.BlockBytes), offset);
        if (!RecordFrame.TryRead(buffer.AsSpan(0, DiskLayout.BlockBytes), segment.Nonce, offset, segment.Bytes, out RecordFrame frame))
        {
            throw DiskException.Damaged(segment.Path, offset, "no header where one should be");
        }

        byte[] header = GC.AllocateUninitializedArray<byte>(frame.HeaderBytes, pinned: true);
        buffer.AsSpan(0, DiskLayout.BlockBytes).CopyTo(header);
        await files.ReadAllAsync(segment.File, header.AsMemory(DiskLayout.BlockBytes), offset + DiskLayout.BlockBytes);
        if (!RecordFrame.IsSound(header))
        {
            throw DiskException.Damaged(segment.Path, offset, "the checksum of a header is wrong");
        }

        return (frame, frame.Kind == RecordKind.Object ? DiskRecord.Decode(header) : null);
    }

    /// <summary>Lists what was found, without what was purged; nothing of it, if nobody can tell what was.</summary>
    private async Task AddAsync(List<DiskCopy> found)
    {
        JournaledPurges journaled;
        try
        {
            journaled = await journal.ReadAsync();
        }
        catch (DiskException distrust)
        {
            // A new directory has no journal, and needs none.
            if (found.Count > 0)
            {
                metrics.Dropped(distrust.Reason, found.Count);
                CacheLog.DiskDistrusted(log, found.Count, distrust.Message);
                await Parallel.ForEachAsync(disk.Segments, s_some, async (segment, _) => await EndAsync(segment, 0));
            }

            return;
        }

        // In the order in which they were written: of two of the same key and variant the later one counts, purged or not.
        foreach (DiskCopy copy in found.OrderBy(copy => copy.Segment!.Sequence).ThenBy(copy => copy.Offset))
        {
            catalog.AddFound(copy);
        }

        await catalog.RemoveAsync(journaled.Concern);
    }

    private async Task<List<DiskCopy>> WalkAsync(Segment segment)
    {
        byte[] buffer = GC.AllocateUninitializedArray<byte>(DiskLayout.BlockBytes, pinned: true);
        List<DiskCopy> found = [];
        long offset = 0;
        try
        {
            await files.ReadAllAsync(segment.File, buffer, offset);
            if (buffer.AsSpan().ContainsAnyExcept((byte)0) && !segment.TryContinue(buffer))
            {
                throw DiskException.Damaged(segment.Path, offset, "this is not the start of a segment");
            }

            offset = segment.Sequence == 0 ? segment.Bytes : DiskLayout.BlockBytes;
            while (offset < segment.Bytes)
            {
                (RecordFrame frame, DiskRecord? record) = await ReadRecordAsync(files, segment, offset, buffer);
                if (frame.Kind == RecordKind.End)
                {
                    break;
                }

                Add(found, segment, offset, frame, record);
                offset += frame.AreaBytes;
            }
        }
        catch (DiskException damage)
        {
            metrics.Dropped(damage.Reason);
            CacheLog.DiskDamaged(log, damage.Message);
            await EndAsync(segment, offset);
        }

        return found;
    }

    private void Add(List<DiskCopy> found, Segment segment, long offset, RecordFrame frame, DiskRecord? record)
    {
        if (record is not null)
        {
            // Whatever the clock says, which may be put right later: what is not listed cannot be removed.
            found.Add(new(DiskIndex.HashOf(record.Key), DiskIndex.HashOf(record.VariantKey))
            {
                Segment = segment,
                Offset = offset,
                AreaBytes = frame.AreaBytes,
                KeptUntil = record.KeptUntil,

                // Purges of earlier processes are in the journal.
                Stamp = PurgeStamp.Of(purges, purges.Begin(), record.Tags, purges.InternPrefixOf(record.Key)),
            });
        }
    }

    /// <summary>
    /// What lies behind damage is not known to this process, which could not remove it: no later one must find it again, should it be
    /// readable then.
    /// </summary>
    private async Task EndAsync(Segment segment, long offset)
    {
        if (offset == 0)
        {
            segment.Begin(sequence: 0);
            await files.WriteAllAsync(segment.File, segment.EncodeStart(), 0);
        }
        else
        {
            await files.WriteBareAsync(segment, RecordKind.End, offset, DiskLayout.BlockBytes, segment.Nonce);
        }
    }
}
