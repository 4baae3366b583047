using System.Threading.Channels;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Writes what memory has no room for, one object after the other. Anybody adds; one thread-pool task writes. One per service.
/// </summary>
internal sealed class WriteBehind
{
    private readonly Channel<(CachedObject Entry, DiskCopy Copy)> _queue =
        Channel.CreateUnbounded<(CachedObject, DiskCopy)>(new UnboundedChannelOptions { SingleReader = true });

    private readonly DiskCatalog _catalog;
    private readonly IFileQueue _files;
    private readonly DiskOptions _options;
    private readonly DiskMetrics _metrics;
    private readonly TimeProvider _time;
    private readonly DropLog _drops;
    private readonly ILogger _log;
    private readonly Task _writing;

    /// <summary>What is written at a time, and behind the end of a body the end mark.</summary>
    private readonly byte[] _buffer = GC.AllocateUninitializedArray<byte>(DiskLayout.WriteBytes + DiskLayout.BlockBytes, pinned: true);
    private long _waitingBytes;

    public WriteBehind(
        DiskCatalog catalog, IFileQueue files, DiskOptions options, DiskMetrics metrics, TimeProvider time, DropLog drops, ILogger log)
    {
        (_catalog, _files, _options, _metrics, _time, _drops, _log) = (catalog, files, options, metrics, time, drops, log);
        _writing = Task.Run(WriteAllAsync);
    }

    /// <summary>Memory of the objects that wait.</summary>
    public long WaitingBytes => Volatile.Read(ref _waitingBytes);

    /// <summary>Has an object written later, and lists its copy; false if too many bytes wait. Called by one at a time.</summary>
    public bool TryAdd(CachedObject entry)
    {
        long bytes = BytesOf(entry);
        if (WaitingBytes > 0 && WaitingBytes + bytes > _options.QueueBytes)
        {
            return false;
        }

        Interlocked.Add(ref _waitingBytes, bytes);
        DiskCopy copy = new(DiskIndex.HashOf(entry.Key), DiskIndex.HashOf(entry.VariantKey)) { Stamp = entry.Stamp };
        _catalog.Add(copy);
        entry.Below = copy;
        _queue.Writer.TryWrite((entry, copy));
        return true;
    }

    /// <summary>Writes what waits, and ends. Nobody adds any more.</summary>
    public async Task StopAsync()
    {
        _queue.Writer.Complete();
        await _writing;
    }

    /// <summary>Body and tags: what of an object may be large.</summary>
    private static long BytesOf(CachedObject entry) => entry.Body.CapacityBytes + entry.Stamp.ListBytes + entry.Stamp.TagBytes;

    private async Task WriteAllAsync()
    {
        await foreach ((CachedObject entry, DiskCopy copy) in _queue.Reader.ReadAllAsync())
        {
            try
            {
                await WriteAsync(entry, copy);
            }
            catch (Exception failure)
            {
                // The end mark of the object before is where it was; what lies behind it is nothing.
                _catalog.Drop(copy, DropReason.WriteFailed);
                if (failure is IOException)
                {
                    _drops.Dropped(DropReason.WriteFailed, failure.Message);
                }
                else
                {
                    CacheLog.DiskDefect(_log, failure, entry.Key);
                }
            }
            finally
            {
                Interlocked.Add(ref _waitingBytes, -BytesOf(entry));
            }
        }
    }

    private async Task WriteAsync(CachedObject entry, DiskCopy copy)
    {
        if (!_catalog.IsWanted(copy))
        {
            return;
        }

        DiskRecord record = DiskRecord.Of(entry, _time.GetUtcNow().UtcDateTime);
        int headerBytes = record.Encode().Length;
        long area = headerBytes + DiskLayout.InBlocks(record.BodyBytes);
        if (area > _options.SegmentBytes - DiskLayout.BlockBytes)
        {
            _catalog.Drop(copy, DropReason.TooLarge);
            return;
        }

        if (await _catalog.FindPlaceAsync(area) is not { } segment)
        {
            _catalog.Drop(copy, DropReason.NoSegment);
            return;
        }

        long offset = segment.Used;
        try
        {
            await WriteBodyAsync(entry, record, segment, offset, headerBytes, area);
        }
        catch (IOException)
        {
            _catalog.Leave(segment);
            throw;
        }

        if (_catalog.TryBeginSeal(copy, segment, area, record.KeptUntil))
        {
            await SealAsync(copy, segment, record, offset, area);
        }
    }

    /// <summary>Body, padding, and the end mark where the next header will be; the checksums go to the record.</summary>
    private async Task WriteBodyAsync(CachedObject entry, DiskRecord record, Segment segment, long offset, int headerBytes, long area)
    {
        using BodyCursor body = new(entry.Body);
        for (long done = 0; done < record.BodyBytes;)
        {
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

            await _files.WriteAllAsync(segment.File, _buffer.AsMemory(0, padded), offset + headerBytes + done);
            _metrics.Wrote(padded);
            done += count;
        }
    }

    private async Task SealAsync(DiskCopy copy, Segment segment, DiskRecord record, long offset, long area)
    {
        try
        {
            byte[] header = record.Encode();
            new RecordFrame(RecordKind.Object, header.Length, area).Seal(header, segment.Nonce, offset);
            await _files.WriteAllAsync(segment.File, header, offset);
            _metrics.Wrote(header.Length);
        }
        catch (Exception failure)
        {
            // Whatever it was: who removes the object meanwhile waits to hear that it is gone.
            _catalog.FailSeal(copy, failure.Message);
            throw;
        }

        if (await _catalog.EndSealAsync(copy))
        {
            _metrics.Demoted();
        }
    }
}
