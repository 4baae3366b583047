using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Writes objects into the segments, one after the other. One owner at a time: the task of <see cref="WriteBehind"/>, and at a drain
/// <see cref="DrainSave"/> after that task has ended.
/// </summary>
internal sealed class ObjectWriter(
    DiskCatalog catalog, IFileQueue files, int segmentBytes, DiskMetrics metrics, TimeProvider time, DropLog drops, ILogger log)
{
    /// <summary>What is written at a time, and behind the end of a body the end mark.</summary>
    private readonly byte[] _buffer = GC.AllocateUninitializedArray<byte>(DiskLayout.WriteBytes + DiskLayout.BlockBytes, pinned: true);

    /// <summary>Writes an object, or drops its copy; what fails is counted and logged.</summary>
    /// <param name="entry">Its body is whole.</param>
    /// <param name="keptFrom">Segments with this sequence or a later one are not used again.</param>
    /// <param name="over">Ends it between two writes.</param>
    public async Task<WriteOutcome> WriteAsync(CachedObject entry, DiskCopy copy, long keptFrom, CancellationToken over)
    {
        try
        {
            return await TryWriteAsync(entry, copy, keptFrom, over);
        }
        catch (OperationCanceledException) when (over.IsCancellationRequested)
        {
            catalog.Remove(copy.KeyHash, other => other == copy);
            return WriteOutcome.OutOfTime;
        }
        catch (Exception failure)
        {
            // The end mark of the object before is where it was; what lies behind it is nothing.
            catalog.Drop(copy, DropReason.WriteFailed);
            if (failure is IOException)
            {
                drops.Dropped(DropReason.WriteFailed, failure.Message);
            }
            else
            {
                CacheLog.DiskDefect(log, failure, entry.Key);
            }

            return WriteOutcome.Dropped;
        }
    }

    private async Task<WriteOutcome> TryWriteAsync(CachedObject entry, DiskCopy copy, long keptFrom, CancellationToken over)
    {
        over.ThrowIfCancellationRequested();
        if (!catalog.IsWanted(copy))
        {
            return WriteOutcome.Dropped;
        }

        DiskRecord record = DiskRecord.Of(entry, time.GetUtcNow().UtcDateTime);
        int headerBytes = record.Encode().Length;
        long area = headerBytes + DiskLayout.InBlocks(record.BodyBytes);
        if (area > segmentBytes - DiskLayout.BlockBytes)
        {
            catalog.Drop(copy, DropReason.TooLarge);
            return WriteOutcome.Dropped;
        }

        if (await catalog.FindPlaceAsync(area, keptFrom) is not { } segment)
        {
            catalog.Drop(copy, DropReason.NoSegment);
            return WriteOutcome.NoSegment;
        }

        long offset = segment.Used;
        try
        {
            await WriteBodyAsync(entry, record, segment, offset, headerBytes, area, over);
        }
        catch (IOException)
        {
            catalog.Leave(segment);
            throw;
        }

        over.ThrowIfCancellationRequested();
        return catalog.TryBeginSeal(copy, segment, area, record.KeptUntil) && await SealAsync(copy, segment, record, offset, area)
            ? WriteOutcome.Written
            : WriteOutcome.Dropped;
    }

    /// <summary>Body, padding, and the end mark where the next header will be; the checksums go to the record.</summary>
    private async Task WriteBodyAsync(
        CachedObject entry, DiskRecord record, Segment segment, long offset, int headerBytes, long area, CancellationToken over)
    {
        using BodyCursor body = new(entry.Body);
        for (long done = 0; done < record.BodyBytes;)
        {
            over.ThrowIfCancellationRequested();
            int count = (int)Math.Min(DiskLayout.WriteBytes, record.BodyBytes - done);
            body.Read(_buffer.AsSpan(0, count));
            for (int from = 0; from < count; from += DiskLayout.PieceBytes)
            {
                record.PieceChecksums[(done + from) / DiskLayout.PieceBytes] =
                    Crc32C.Of(_buffer.AsSpan(from, Math.Min(DiskLayout.PieceBytes, count - from)));
            }

            int padded = (int)DiskLayout.InBlocks(count);
            _buffer.AsSpan(count, padded - count).Clear();
            long end = offset + area;
            bool isLast = done + count == record.BodyBytes;
            if (isLast && end < segment.Bytes)
            {
                RecordFrame.WriteBare(_buffer.AsSpan(padded, DiskLayout.BlockBytes), RecordKind.End, DiskLayout.BlockBytes, segment.Nonce, end);
                padded += DiskLayout.BlockBytes;
            }

            await files.WriteAllAsync(segment.File, _buffer.AsMemory(0, padded), offset + headerBytes + done);
            metrics.Wrote(padded);
            done += count;
        }
    }

    /// <returns>False if the copy has gone in between.</returns>
    private async Task<bool> SealAsync(DiskCopy copy, Segment segment, DiskRecord record, long offset, long area)
    {
        try
        {
            byte[] header = record.Encode();
            new RecordFrame(RecordKind.Object, header.Length, area).Seal(header, segment.Nonce, offset);
            await files.WriteAllAsync(segment.File, header, offset);
            metrics.Wrote(header.Length);
        }
        catch (Exception failure)
        {
            // Whatever it was: who removes the object meanwhile waits to hear that it is gone.
            catalog.FailSeal(copy, failure.Message);
            throw;
        }

        if (!await catalog.EndSealAsync(copy))
        {
            return false;
        }

        metrics.Demoted();
        return true;
    }
}

/// <summary>What became of an object that was to be written.</summary>
internal enum WriteOutcome
{
    Written,

    /// <summary>It is of no use, too large, or its write has failed; the next one may be written.</summary>
    Dropped,

    /// <summary>No segment may be used for it.</summary>
    NoSegment,

    OutOfTime,
}

/// <summary>Copies a whole body out of memory, from front to back. Used by one at a time.</summary>
internal sealed class BodyCursor(ObjectBody body) : IDisposable
{
    private readonly IEnumerator<ReadOnlyMemory<byte>> _pieces = body.Pieces.GetEnumerator();
    private ReadOnlyMemory<byte> _rest;

    /// <summary>Fills a span with the next bytes. There are as many: the body is whole.</summary>
    public void Read(Span<byte> target)
    {
        while (!target.IsEmpty)
        {
            if (_rest.IsEmpty)
            {
                _pieces.MoveNext();
                _rest = _pieces.Current;
            }

            int count = Math.Min(_rest.Length, target.Length);
            _rest.Span[..count].CopyTo(target);
            _rest = _rest[count..];
            target = target[count..];
        }
    }

    public void Dispose() => _pieces.Dispose();
}
