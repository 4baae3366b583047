using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

/// <summary>What every fill of a service works with; a disk tier only where there is one. Immutable; any thread.</summary>
internal sealed record FillServices(
    OriginAttempts Attempts,
    ObjectStore Store,
    PurgeEpochs Purges,
    KeyMarkers Markers,
    MemoryLedger Ledger,
    CacheMetrics Metrics,
    LiveOptions Live,
    TimeProvider Time,
    ILogger<FillServices> Log,
    DiskTier? Disk = null)
{
    public CacheOptions Options => Live.Now;

    private readonly StaleDateLog _staleDates = new(Log, Time);

    /// <summary>Whether a body is not kept any more: because of its own size, or because of all that are being received.</summary>
    public bool IsTooLarge(ObjectBody body) => body.StoredLength > Options.MaxObjectBytes || Ledger.InFlightBytes > Options.MaxInFlightBytes;

    /// <summary>Who may have a response to a fill, and for how long. The operator is told if the clocks alone make it stale.</summary>
    public SharingVerdict Judge(IResponseSource response, OriginRequest request)
    {
        if (request.Slice is { IsFirst: false } slice)
        {
            return slice.Verdict;
        }

        SharingVerdict verdict = response.Judge(request.Address.Policy.Freshness);
        if (request.Credentials is { } credentials && !SharingRules.IsForOthers(response.Head, verdict, credentials))
        {
            return verdict with { Refusal = credentials, CanShareOnceValidated = false };
        }

        if (verdict.StaleBy == AgeRules.StaleByDate && response is OriginResponse { Replica: { } replica })
        {
            _staleDates.Met(replica.Url, verdict.InitialAge);
        }

        return verdict;
    }
}

/// <summary>
/// Tells the operator that responses are stale when they come because of their <c>Date</c> alone (RFC 9111 4.2.3): one of the two clocks is
/// wrong, or a cache behind us sends no <c>Age</c>. At most one line a minute. Any thread; one per service.
/// </summary>
internal sealed class StaleDateLog(ILogger log, TimeProvider time)
{
    private static readonly TimeSpan s_pause = TimeSpan.FromMinutes(1);

    private readonly Lock _lock = new();
    private long? _toldAt;

    /// <param name="behind">How far its <c>Date</c> is behind our clock.</param>
    public void Met(string url, TimeSpan behind)
    {
        lock (_lock)
        {
            if (_toldAt is { } last && time.GetElapsedTime(last) < s_pause)
            {
                return;
            }

            _toldAt = time.GetTimestamp();
        }

        CacheLog.StaleDate(log, url, (long)behind.TotalSeconds);
    }
}
