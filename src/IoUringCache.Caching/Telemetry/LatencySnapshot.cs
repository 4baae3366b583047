namespace IoUringCache.Caching.Telemetry;

/// <summary>How many durations were counted in each of the <see cref="LatencyBuckets"/>. Immutable; any thread.</summary>
internal sealed class LatencySnapshot(long[] counts)
{
    public long Count { get; } = counts.Sum();

    /// <summary>Estimate, by the middle of each bucket.</summary>
    public TimeSpan Sum => TimeSpan.FromMicroseconds(
        counts.Select((count, index) => count * (StartOf(index) + LatencyBuckets.EndOf(index)) / 2.0).Sum());

    /// <summary>The duration that this share of all have not exceeded: the end of its bucket. Zero without any.</summary>
    /// <param name="share">Above 0, at most 1.</param>
    public TimeSpan Quantile(double share)
    {
        long left = (long)Math.Ceiling(share * Count);
        for (int index = 0; index < counts.Length && Count > 0; index++)
        {
            left -= counts[index];
            if (left <= 0)
            {
                return TimeSpan.FromMicroseconds(LatencyBuckets.EndOf(index));
            }
        }

        return TimeSpan.Zero;
    }

    /// <summary>How many took less than a power of two of microseconds.</summary>
    public long CountBelow(long microseconds) => counts.TakeWhile((_, index) => LatencyBuckets.EndOf(index) <= microseconds).Sum();

    private static long StartOf(int index) => index == 0 ? 0 : LatencyBuckets.EndOf(index - 1);
}
