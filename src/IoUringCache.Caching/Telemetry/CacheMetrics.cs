using System.Diagnostics.Metrics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// Counters of one service, cumulative since its start and never per key. Plain interlocked numbers that the meter reads when somebody
/// looks, so that a request pays for an increment and nothing else. Any thread.
/// </summary>
internal sealed class CacheMetrics : IDisposable
{
    /// <summary>Of the meter, and of the source of spans.</summary>
    public const string MeterName = "IoUringCache.Caching";

    /// <summary>Details of the 503s that are answered because of a limit of the service's own.</summary>
    private static readonly string[] s_refusals =
    [
        "overload", "too-many-fills", "too-many-fills-at-origin", "too-many-passes", "too-many-passes-at-origin", "too-many-upgrades", "too-many-readers",
        "too-many-waiters", "hold-time", "too-many-bytes-in-flight", "origin-circuit-open", "cannot-open-now",
    ];

    private readonly Meter _meter;
    private readonly ReasonCounts _refusals = new(s_refusals);
    private readonly ReasonCounts _readersCut = new(CutReason.All);
    private long _hits;
    private long _staleHits;
    private long _validations;
    private long _joins;
    private long _brokenOut;
    private long _misses;
    private long _passes;
    private long _fills;
    private long _filesAsked;
    private long _filesOpened;
    private long _fillsCompleted;
    private long _fillsResumed;
    private long _originFailures;
    private long _receivedBytes;
    private long _sentBytes;
    private long _activeReaders;
    private long _activePasses;
    private long _upgrades;
    private long _activeUpgrades;

    public CacheMetrics()
    {
        _meter = new(new MeterOptions(MeterName) { Scope = this });
        Count("cache.hits", "{request}", "Answered from the store.", () => _hits);
        Count("cache.hits.stale", "{request}", "Answered from the store by what is stale, without waiting for the origin.", () => _staleHits);
        Count("cache.validations", "{object}", "Stored objects that the origin confirmed by a 304.", () => _validations);
        Count("cache.joins", "{request}", "Joined a fill in flight.", () => _joins);
        Count("cache.joins.broken_out", "{request}", "Waited for a fill whose response was not for them after all.", () => _brokenOut);
        Count("cache.misses", "{request}", "Started a fill.", () => _misses);
        Count("cache.passes", "{request}", "Went to the origin alone.", () => _passes);
        Count("cache.refusals", "{request}", "Answered 503 because of a cap, a hold time or an open circuit; reason is the detail of Cache-Status.", _refusals.Measure);
        Count("cache.fills", "{request}", "Attempts of fills to ask the origin.", () => _fills);
        Count("cache.fills.completed", "{fill}", "Fills that ended with a whole body.", () => _fillsCompleted);
        Count("cache.fills.resumed", "{fill}", "Bodies that broke off and went on by Range.", () => _fillsResumed);
        Count("cache.files", "{request}", "Asked for a file of the directory that is served, whether it is there or not.", () => _filesAsked);
        Count("cache.files.opened", "{file}", "Looked for in the directory that is served, neighbours too, and not in memory.", () => _filesOpened);
        Count("cache.origin.failures", "{failure}", "Failures of the origin, before and after headers.", () => _originFailures);
        Count("cache.readers.cut", "{request}", "Answers cut visibly after their headers, by reason.", _readersCut.Measure);
        Count("cache.purges", "{purge}", "Purges by key, prefix, tag or of all, of operators, clients and the application at this node.", Purges.MeasurePurges);
        Count("cache.purges.objects", "{object}", "Objects that these hit, in memory and on the disk; some are in both.", Purges.MeasureObjects);
        Count("cache.origin.received", "By", "Body bytes received from the origin.", () => _receivedBytes);
        Count("cache.sent", "By", "Body bytes handed to clients, chunk framing of our own included.", () => _sentBytes);
        Gauge("cache.readers", "{request}", "Requests reading an object at the moment.", () => ActiveReaders);
        Gauge("cache.passes.active", "{request}", "Requests passing alone at the moment.", () => ActivePasses);
        Count("cache.upgrades", "{request}", "Asked for another protocol, such as WebSockets; passes too, until the origin takes it up.", () => _upgrades);
        Gauge("cache.upgrades.active", "{request}", "Connections of another protocol, and those that ask for it, at the moment.", () => ActiveUpgrades);
        Durations = new(_meter);
    }

    public RequestDurations Durations { get; }

    public PurgeCounts Purges { get; } = new();

    /// <summary>Whether requests bring a <see cref="ServedRequest"/>; without, a hit does not look for one. Set before the first request.</summary>
    public bool TellsOfRequests { get; set; }

    public long Hits => Volatile.Read(ref _hits);

    public long Joins => Volatile.Read(ref _joins);

    public long BrokenOutJoins => Volatile.Read(ref _brokenOut);

    public long Misses => Volatile.Read(ref _misses);

    public long Passes => Volatile.Read(ref _passes);

    public long Refusals => _refusals.Total;

    public long Fills => Volatile.Read(ref _fills);

    public long OriginFailures => Volatile.Read(ref _originFailures);

    public long CutReaders => _readersCut.Total;

    public long SentBytes => Volatile.Read(ref _sentBytes);

    public long ActiveReaders => Volatile.Read(ref _activeReaders);

    public long ActivePasses => Volatile.Read(ref _activePasses);

    public long ActiveUpgrades => Volatile.Read(ref _activeUpgrades);

    /// <summary>Adds a figure that another part of the service keeps.</summary>
    public void Gauge<T>(string name, string unit, string description, Func<T> read)
        where T : struct =>
        _meter.CreateObservableGauge(name, read, unit, description);

    public void Gauge(string name, string unit, string description, Func<IEnumerable<Measurement<long>>> read) =>
        _meter.CreateObservableGauge(name, read, unit, description);

    public void Count(string name, string unit, string description, Func<IEnumerable<Measurement<long>>> read) =>
        _meter.CreateObservableCounter(name, read, unit, description);

    /// <summary>Adds a cumulative figure that another part of the service keeps.</summary>
    public void Count<T>(string name, string unit, string description, Func<T> read)
        where T : struct =>
        _meter.CreateObservableCounter(name, read, unit, description);

    /// <summary>A request has an object: of the store, of a fill of another request, or of its own.</summary>
    public void Found(RequestOutcome outcome)
    {
        switch (outcome)
        {
            case RequestOutcome.Hit:
                Interlocked.Increment(ref _hits);
                break;
            case RequestOutcome.Stale:
                Interlocked.Increment(ref _staleHits);
                break;
            case RequestOutcome.Join:
                Interlocked.Increment(ref _joins);
                break;
            case RequestOutcome.Miss:
                Interlocked.Increment(ref _misses);
                break;
        }
    }

    public void Validated() => Interlocked.Increment(ref _validations);

    public void BrokenOut() => Interlocked.Increment(ref _brokenOut);

    /// <param name="reason">The detail of the answer.</param>
    public void Refused(string reason) => _refusals.Add(reason);

    public void FileAsked() => Interlocked.Increment(ref _filesAsked);

    public void FileOpened() => Interlocked.Increment(ref _filesOpened);

    public void FillStarted() => Interlocked.Increment(ref _fills);

    public void FillCompleted() => Interlocked.Increment(ref _fillsCompleted);

    public void FillResumed() => Interlocked.Increment(ref _fillsResumed);

    public void FillFailed() => Interlocked.Increment(ref _originFailures);

    /// <param name="reason">One of <see cref="CutReason"/>.</param>
    public void ReadersCut(string reason, int count) => _readersCut.Add(reason, count);

    public void ReceivedFromOrigin(int bytes) => Interlocked.Add(ref _receivedBytes, bytes);

    /// <summary>What the access log tells of a request; <see langword="null"/> without an access log.</summary>
    public ServedRequest? ServedOf(HttpContext context) => TellsOfRequests ? ServedRequest.Of(context) : null;

    /// <summary>A request for an object has ended.</summary>
    /// <param name="route">Prefix of the route of its key; empty where no route has it.</param>
    public void Answered(HttpContext context, RequestOutcome outcome, TimeSpan duration, string route)
    {
        Durations.Record(outcome, duration);
        ServedOf(context)?.End(outcome, route);
        CacheSpans.Tell(outcome, route);
    }

    /// <summary>Counts bytes of a body, for all requests and for this one.</summary>
    public void SentToClient(HttpContext context, long bytes)
    {
        Interlocked.Add(ref _sentBytes, bytes);
        ServedOf(context)?.Sent(bytes);
    }

    public void ReaderStarted() => Interlocked.Increment(ref _activeReaders);

    public void ReaderEnded() => Interlocked.Decrement(ref _activeReaders);

    /// <summary>Takes one of <paramref name="limit"/> places for a pass; give it back by <see cref="PassEnded"/>.</summary>
    public bool TryStartPass(int limit) => TryStart(ref _activePasses, ref _passes, limit);

    public void PassEnded() => Interlocked.Decrement(ref _activePasses);

    /// <summary>Takes one of <paramref name="limit"/> places for an upgrade; give it back by <see cref="UpgradeEnded"/>.</summary>
    public bool TryStartUpgrade(int limit) => TryStart(ref _activeUpgrades, ref _upgrades, limit);

    public void UpgradeEnded() => Interlocked.Decrement(ref _activeUpgrades);

    public void Dispose() => _meter.Dispose();

    private static bool TryStart(ref long active, ref long all, int limit)
    {
        if (Interlocked.Increment(ref active) > limit)
        {
            Interlocked.Decrement(ref active);
            return false;
        }

        Interlocked.Increment(ref all);
        return true;
    }
}
