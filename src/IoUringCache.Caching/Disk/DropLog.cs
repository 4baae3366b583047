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

/// <summary>Why an object is not, or no longer, on the disk. What follows from FIFO or from a newer object is none of them.</summary>
internal enum DropReason
{
    /// <summary>A checksum, or anything else, is wrong.</summary>
    Damaged,

    ReadFailed,

    WriteFailed,

    /// <summary>It was of no use any more when it was asked for, or the clock is earlier than when it was written.</summary>
    Stale,

    /// <summary>Too many bytes wait to be written.</summary>
    QueueFull,

    /// <summary>With its header it is larger than a segment.</summary>
    TooLarge,

    /// <summary>The oldest segment is being read, or no segment can be written any more.</summary>
    NoSegment,
}
