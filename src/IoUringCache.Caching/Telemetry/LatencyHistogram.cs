using System.Numerics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>Counts durations in <see cref="LatencyBuckets"/>. One interlocked increment for each; any thread.</summary>
internal sealed class LatencyHistogram
{
    private readonly long[] _buckets = new long[LatencyBuckets.Count];

    public void Record(TimeSpan duration) => Interlocked.Increment(ref _buckets[LatencyBuckets.IndexOf((long)duration.TotalMicroseconds)]);

    /// <summary>What has been counted so far. While others count, not of one moment, but never less than it was.</summary>
    public LatencySnapshot Read()
    {
        long[] counts = new long[_buckets.Length];
        for (int index = 0; index < counts.Length; index++)
        {
            counts[index] = Volatile.Read(ref _buckets[index]);
        }

        return new(counts);
    }
}

/// <summary>
/// Buckets that grow with the duration: sixteen of equal width between each two powers of two, so that what is told of a duration by its
/// bucket is wrong by no more than a sixteenth. From 1 us to 71 minutes; longer ones count as that. Stateless; any thread.
/// </summary>
internal static class LatencyBuckets
{
    private const int LinearBits = 4;
    private const int Linear = 1 << LinearBits;
    private const int MostBits = 32;

    public const int Count = (MostBits - LinearBits + 1) * Linear;

    /// <summary>First microsecond that does not belong to a bucket any more.</summary>
    public static long EndOf(int index)
    {
        if (index < Linear)
        {
            return index + 1;
        }

        int shift = (index >> LinearBits) - 1;
        return (long)(Linear + (index & (Linear - 1)) + 1) << shift;
    }

    public static int IndexOf(long microseconds)
    {
        ulong value = (ulong)Math.Clamp(microseconds, 0, (1L << MostBits) - 1);
        int shift = Math.Max(0, BitOperations.Log2(value | 1) - LinearBits);
        return (shift << LinearBits) + (int)(value >> shift);
    }
}

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
