using CachingService.Options;
using CachingService.Tests.Infrastructure;
using CachingService.Tests.Storage;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService.Tests.Disk;

/// <summary>
/// A key is invalidated in steps: its fills, what is stored, what is on the disk. Here a fill begins between two of them, and has read of the
/// disk what is just about to go from there.
/// </summary>
public sealed class InvalidationRaceTests : IAsyncLifetime
{
    private const string Key = "a";
    private const int BodyBytes = 100_000;
    private const long BodyOffset = 2 * DiskLayout.BlockBytes;

    private readonly string _directory = Directory.CreateTempSubdirectory("disk-").FullName;
    private readonly FakeTime _time = new();
    private readonly MemoryLedger _ledger = new();
    private readonly TaskCompletionSource _reading = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _mayRead = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ScriptedOrigin _scripted = new(static exchange => exchange.AnswerAsync("new", "Cache-Control: max-age=60\r\n"));
    private readonly CacheMetrics _metrics = new();
    private FaultyFiles _files = null!;
    private DiskTier _disk = null!;
    private readonly IoUringConnectionFactory _connections = new();
    private OriginReplicas _replicas = null!;
    private OriginClient _origin = null!;
    private CacheRoute _route = null!;
    private ObjectStore _store = null!;
    private FillTable _fills = null!;
    private FillReader? _early;

    public async ValueTask InitializeAsync()
    {
        ServiceOptions options = ServiceOptions.Read(new ConfigurationBuilder().Build());
        PurgeEpochs purges = new(_time);
        DiskOptions onDisk = new()
        {
            Path = _directory,
            SegmentBytes = 1 << 20,
            SegmentCount = 2,
            QueueBytes = 1 << 20,
            TagBytes = 1 << 20,
            MinObjectBytes = 1,
            SaveOnDrain = TimeSpan.Zero,
        };
        _files = await FaultyFiles.StartAsync();
        _disk = new(onDisk, _files, purges, _time, NullLogger.Instance);
        await _disk.OpenAsync(isSuccessor: false, TestContext.Current.CancellationToken);
        _replicas = new([_scripted.Url], options.Origin, _connections, _time);
        _origin = new(_replicas, _time);
        _store = new(maxObjects: 10, maxBytes: 1 << 20, maxVariants: 4, _ledger) { Below = new MeetingTier(_disk, BeginFillThatReadsTheDisk) };
        LiveOptions live = new(options.Cache);
        _route = new(_origin, live, static options => options.Routes, new([_scripted.Url]));
        OriginAttempts attempts = new(_metrics, live, _time, NullLogger<OriginAttempts>.Instance);
        KeyMarkers markers = new(live, _time);
        _fills = new(new(attempts, _store, purges, markers, _ledger, _metrics, live, _time, NullLogger<FillServices>.Instance, _disk));
    }

    public async ValueTask DisposeAsync()
    {
        _early?.Dispose();
        await _fills.StopAsync().WaitAsync(Patience.Limit);
        await _disk.DisposeAsync();
        await _files.DisposeAsync();
        await _scripted.DisposeAsync();
        _replicas.Dispose();
        await _connections.DisposeAsync();
        _metrics.Dispose();
        Directory.Delete(_directory, recursive: true);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Fill_ThatBeginsInTheMiddle_IsNotJoinedAndNotStored(bool isSoft)
    {
        _disk.Demote(TestObjects.CreateComplete(Key, BodyBytes, _ledger, _time));
        await Eventually.TrueAsync(() => _disk.Metrics.Demotions == 1, "the object is on the disk");
        _files.Segments.BeforeRead = offset => offset >= BodyOffset ? HoldAsync() : Task.CompletedTask;

        _ = isSoft ? _fills.MakeStale(Key) : _fills.Invalidate(Key);

        Assert.True(Assert.Single(_fills.Describe(Key)).IsOutdated);
        using FillReader later = Ask();
        Assert.True(later.IsLeader);
        _mayRead.SetResult();
        FillHeaders headers = await later.Headers.WaitAsync(ThreadPoolScheduler.Instance, CancellationToken.None).AsTask()
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal("new".Length, headers.Shared!.Head.ContentLength);
        await Eventually.TrueAsync(() => _fills.ActiveCount == 0, "both fills have ended");
        Assert.Equal("new".Length, Assert.Single(_store.FindAll(Key)).Body.Length);
    }

    /// <summary>Called in the middle, once.</summary>
    private void BeginFillThatReadsTheDisk()
    {
        if (!_reading.Task.IsCompleted)
        {
            _early = Ask();
            Assert.True(_reading.Task.Wait(Patience.Limit));
        }
    }

    private FillReader Ask()
    {
        MissedRequest miss = new()
        {
            Address = new(_route, Key, Key),
            Fields = new HeaderDictionary(),
            MakeRequest = _ => new(HttpMethod.Get, new(_route, Key, Key), []),
            Cut = static () => { },
        };
        return _fills.JoinOrCreate(miss).Reader!;
    }

    private Task HoldAsync()
    {
        _reading.TrySetResult();
        return _mayRead.Task.WaitAsync(Patience.Limit);
    }

    /// <summary>The disk tier, with something that happens before a key goes from it.</summary>
    private sealed class MeetingTier(DiskTier inner, Action beforeRemoval) : ILowerTier
    {
        public int Count => inner.Count;

        public int TagCount => inner.TagCount;

        public void Demote(CachedObject evicted) => inner.Demote(evicted);

        public void Supersede(CachedObject newcomer) => inner.Supersede(newcomer);

        public int Remove(string key)
        {
            beforeRemoval();
            return inner.Remove(key);
        }

        public void RecordPurge(Tag? tag) => inner.RecordPurge(tag);

        public Task SettledAsync() => inner.SettledAsync();
    }
}
