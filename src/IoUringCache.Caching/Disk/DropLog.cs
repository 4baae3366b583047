using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// Tells of objects that are dropped because the disk fails: of each reason the first, then at most one a minute with the number of those in
/// between. A disk that is full or dying fails with every object, which must not fill another disk with lines; how many there were is counted
/// in any case. Any thread; one per tier.
/// </summary>
internal sealed class DropLog(ILogger log, TimeProvider time)
{
    private static readonly TimeSpan s_pause = TimeSpan.FromMinutes(1);

    private readonly Lock _lock = new();
    private readonly Dictionary<DropReason, (long ToldAt, long Untold)> _reasons = [];

    /// <param name="reason">Reasons do not hold each other back.</param>
    /// <param name="message">What has failed, with its place.</param>
    public void Dropped(DropReason reason, string message)
    {
        long untold = 0;
        lock (_lock)
        {
            if (_reasons.TryGetValue(reason, out (long ToldAt, long Untold) last))
            {
                if (time.GetElapsedTime(last.ToldAt) < s_pause)
                {
                    _reasons[reason] = last with { Untold = last.Untold + 1 };
                    return;
                }

                untold = last.Untold;
            }

            _reasons[reason] = (time.GetTimestamp(), 0);
        }

        CacheLog.DiskDropped(log, untold, message);
    }
}
