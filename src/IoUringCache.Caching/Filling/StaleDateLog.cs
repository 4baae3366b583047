using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Filling;

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
