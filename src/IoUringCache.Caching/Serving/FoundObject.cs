using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>How a request came by an object: one finding for the counters, the durations, the access log and Cache-Status. Immutable.</summary>
/// <param name="Outcome">If the answer ends well.</param>
internal readonly record struct FoundObject(RequestOutcome Outcome, string CacheStatus)
{
    /// <summary>Whether it was stored.</summary>
    public bool WasStored => Outcome is RequestOutcome.Hit or RequestOutcome.Stale;
}
