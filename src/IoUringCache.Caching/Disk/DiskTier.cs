using System.Collections.Concurrent;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Ring;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Objects that memory had no room for, or still had at a drain, on a disk, where they outlive the process. Any thread; one per service. It is used
/// only once it is open; until then another process may have the directory, and this one is empty.
/// </summary>
internal sealed class DiskTier : ILowerTier, IPieceReader, IAsyncDisposable
{
    /// <summary>Headers read for one request: variants of a key, and keys with the same hash.</summary>
    private const int MaxCandidates = 16;

    private readonly DiskFiles _disk;
    private readonly IFileQueue _files;
    private readonly DiskOptions _options;
    private readonly TimeProvider _time;
    private readonly DropLog _drops;
    private readonly ILogger _log;
    private readonly DiskCatalog _catalog;
    private readonly PurgeJournal _journal;
    private readonly ObjectWriter _writer;
    private readonly WriteBehind _queue;

    private readonly DiskScan _scan;

    /// <summary>Of a piece each; as many as there were promotions at a time.</summary>
    private readonly ConcurrentBag<byte[]> _buffers = [];

    /// <param name="files">How the files are read and written; not disposed.</param>
    /// <exception cref="OptionException">The directory cannot be used.</exception>
    public DiskTier(DiskOptions options, IFileQueue files, PurgeEpochs purges, TimeProvider time, ILogger log)
    {
        (_disk, _files, _options, _time, _log) = (new(options), files, options, time, log);
        _catalog = new(_disk.Segments, options.TagBytes, files, Metrics, log);
        _journal = new(_disk, _catalog, files, log);
        _scan = new(_disk, _catalog, _journal, files, Metrics, purges, log);
        _drops = new(log, time);
        _writer = new(_catalog, files, options.SegmentBytes, Metrics, time, _drops, log);
        _queue = new(_catalog, _writer, options.QueueBytes);
    }

    /// <summary>Owned, and disposed of last; <see langword="null"/> where the maker of this owns what reads and writes.</summary>
    private FileRing? Ring { get; init; }

    public DiskMetrics Metrics { get; } = new();

    /// <inheritdoc/>
    /// <remarks>Includes expired and purged ones that no request or sweep has met since.</remarks>
    public int Count => _catalog.Count;

    public long WaitingBytes => _queue.WaitingBytes;

    public int TagCount => _catalog.Tags.Count;

    /// <summary>Memory of the tags and prefixes of these objects, in bytes.</summary>
    public long TagBytes => _catalog.Tags.Bytes;

    /// <summary>With a ring of its own, whose thread it starts.</summary>
    /// <exception cref="OptionException">There is no io_uring, or the directory cannot be used.</exception>
    public static async Task<DiskTier> CreateAsync(DiskOptions options, PurgeEpochs purges, TimeProvider time, ILoggerFactory loggers)
    {
        FileRing ring;
        try
        {
            ring = await FileRing.StartAsync();
        }
        catch (Exception failure) when (failure is IoUringUnavailableException or IoUringException)
        {
            throw new OptionException($"Option {DiskOptionCatalog.Path.Name}: the disk tier needs io_uring. {failure.Message}");
        }

        try
        {
            return new(options, ring, purges, time, loggers.CreateLogger<DiskTier>()) { Ring = ring };
        }
        catch
        {
            await ring.DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens the files, or makes them, and finds what an earlier process has left there. Once, before anything else.</summary>
    /// <param name="isSuccessor">Whether another process that has them now is about to end, and is waited for.</param>
    /// <exception cref="OptionException">They are another service's, the disk has not the room, or what is damaged stays so.</exception>
    public async Task OpenAsync(bool isSuccessor, CancellationToken cancellationToken)
    {
        await _disk.OpenAsync(isSuccessor ? () => CacheLog.DiskAwaited(_log, _options.Path) : null, cancellationToken);
        await _scan.RunAsync(_options.Path);
    }

    public void Demote(CachedObject evicted)
    {
        if (evicted.IsFresh && CanBeWritten(evicted) && evicted.Below?.IsThere != true && !_queue.TryAdd(evicted))
        {
            Metrics.Dropped(DropReason.QueueFull);
        }
    }

    public void Supersede(CachedObject newcomer)
    {
        int variantHash = DiskIndex.HashOf(newcomer.VariantKey);
        _catalog.Remove(DiskIndex.HashOf(newcomer.Key), copy => copy.VariantHash == variantHash && copy != newcomer.Below);
    }

    public int Remove(string key) => _catalog.Remove(DiskIndex.HashOf(key), static _ => true);

    public void RecordPurge(Tag? tag) => _journal.Append(tag);

    /// <inheritdoc cref="DiskFiles.OpenLogPlace"/>
    public LogPlaceFile OpenLogPlace() => _disk.OpenLogPlace();

    public Task SettledAsync() => Task.WhenAll(_catalog.SettledAsync(), _journal.SettledAsync());

    /// <summary>Whether there may be an object of a key: one is found by the hash alone.</summary>
    public bool MayHave(string key) => _catalog.Has(DiskIndex.HashOf(key));

    /// <summary>Finds an object that is of use, fresh or stale. Asks the disk only where there may be one.</summary>
    /// <param name="key">Compared with what is on the disk, byte for byte.</param>
    /// <param name="variantBy">What the request has in the fields of a rule.</param>
    /// <returns>With its first piece; the caller disposes it. <see langword="null"/> if there is none, or none that is sound.</returns>
    public async Task<DiskObject?> FindAsync(string key, Func<VaryRule, string> variantBy)
    {
        int hash = DiskIndex.HashOf(key);
        if (!_catalog.Has(hash))
        {
            return null;
        }

        DateTime now = _time.GetUtcNow().UtcDateTime;
        DiskObject? found = null;
        int candidates = 0;
        foreach (DiskCopy copy in _catalog.Pin(hash, now))
        {
            if (found is null && candidates++ < MaxCandidates)
            {
                found = await TryOpenAsync(copy, key, variantBy, now);
            }

            if (found?.Copy != copy)
            {
                Release(copy);
            }
        }

        return found;
    }

    /// <summary>
    /// The process ends, and no request, fetch or eviction runs any more: writes the objects in memory, the most requested first, until all
    /// are there, the time is over or each segment has been used once. The time also bounds what waits for the disk already. Does nothing if the
    /// tier has not been opened.
    /// </summary>
    /// <param name="memory">Keeps its objects.</param>
    public async Task SaveAsync(ObjectStore memory)
    {
        if (_options.SaveOnDrain == TimeSpan.Zero || _disk.Segments.Count == 0)
        {
            return;
        }

        long start = _time.GetTimestamp();
        using CancellationTokenSource over = new(_options.SaveOnDrain, _time);
        await _queue.StopAsync(over.Token);
        await SettledAsync();
        CachedObject[] objects = [.. memory.MostRequestedFirst().Where(entry => DrainSave.IsOfUse(entry) && CanBeWritten(entry))];
        DrainSave save = new(memory, _catalog, _writer);
        SaveEnd end = await save.RunAsync(objects, over.Token);
        if (memory.Count > 0)
        {
            LogLevel level = end == SaveEnd.Complete ? LogLevel.Information : LogLevel.Warning;
            int there = objects.Count(static entry => entry.Below?.IsThere == true);
            long milliseconds = (long)_time.GetElapsedTime(start).TotalMilliseconds;
            string reason = DrainSave.Explain(end);
            CacheLog.DiskSaved(_log, level, save.WrittenCount, objects.Length, milliseconds, there, memory.Count, reason);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _queue.DisposeAsync();
        await SettledAsync();
        _disk.Dispose();
        if (Ring is not null)
        {
            await Ring.DisposeAsync();
        }
    }

    public void Release(DiskCopy copy) => _catalog.Unpin(copy.Segment!);

    public void Discard(DiskCopy copy) => _catalog.Drop(copy, DropReason.Stale);

    public async Task ReadPieceAsync(DiskCopy copy, DiskRecord record, long bodyOffset, int piece, Memory<byte> target)
    {
        long offset = bodyOffset + ((long)piece * DiskLayout.PieceBytes);
        try
        {
            await _files.ReadAllAsync(copy.Segment!.File, target, offset);
            if (Crc32C.Of(target.Span) != record.PieceChecksums[piece])
            {
                throw DiskException.Damaged(copy.Segment!.Path, offset, "the checksum of a body is wrong");
            }

            Metrics.Read(target.Length);
        }
        catch (IOException failure)
        {
            Drop(copy, failure);
            throw failure as DiskException ?? new DiskException(DropReason.ReadFailed, failure.Message);
        }
    }

    private bool CanBeWritten(CachedObject entry) =>
        entry is { IsGone: false, Verdict.CanShare: true, Body.IsWhole: true }
        && entry.Body.Length >= _options.MinObjectBytes
        && DiskRecord.CanHold(entry);

    private async Task<DiskObject?> TryOpenAsync(DiskCopy copy, string key, Func<VaryRule, string> variantBy, DateTime now)
    {
        byte[] buffer = _buffers.TryTake(out byte[]? used) ? used : GC.AllocateUninitializedArray<byte>(DiskLayout.PieceBytes, pinned: true);
        try
        {
            (RecordFrame frame, DiskRecord? record) = await DiskScan.ReadRecordAsync(_files, copy.Segment!, copy.Offset, buffer);
            if (record is null || frame.AreaBytes != copy.AreaBytes)
            {
                throw DiskException.Damaged(copy.Segment!.Path, copy.Offset, "no object where one was written");
            }

            if (record.Key != key || variantBy(VaryRule.Of(record.Head) ?? VaryRule.None) != record.VariantKey)
            {
                return null;
            }

            if (now < record.WrittenAt)
            {
                // The clock was set back: nobody can tell how old it is.
                _catalog.Drop(copy, DropReason.Stale);
                return null;
            }

            long bodyOffset = copy.Offset + frame.HeaderBytes;
            Memory<byte> first = buffer.AsMemory(0, DiskLayout.PieceBytesOf(record.BodyBytes, 0));
            await ReadPieceAsync(copy, record, bodyOffset, 0, first);
            return new(this, copy, record, first.ToArray(), bodyOffset, _time);
        }
        catch (IOException failure)
        {
            Drop(copy, failure);
            return null;
        }
        finally
        {
            _buffers.Add(buffer);
        }
    }

    private void Drop(DiskCopy copy, IOException failure)
    {
        if (copy.IsThere)
        {
            DropReason reason = (failure as DiskException)?.Reason ?? DropReason.ReadFailed;
            _catalog.Drop(copy, reason);
            _drops.Dropped(reason, failure.Message);
        }
    }
}
