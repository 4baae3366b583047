using System.Numerics;

namespace CachingService.Telemetry;

/// <summary>
/// Counts durations in buckets that grow with the duration: sixteen of equal width between each two powers of two, so that what is read from
/// it is wrong by no more than a sixteenth. From 1 us to 71 minutes; longer ones count as that. One interlocked increment for each; any
/// thread.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int LinearBits = 4;
    private const int Linear = 1 << LinearBits;
    private const int MostBits = 32;

    private readonly long[] _buckets = new long[(MostBits - LinearBits + 1) * Linear];

    public void Record(TimeSpan duration) => Interlocked.Increment(ref _buckets[IndexOf((long)duration.TotalMicroseconds)]);

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

    private static int IndexOf(long microseconds)
    {
        ulong value = (ulong)Math.Clamp(microseconds, 0, (1L << MostBits) - 1);
        int shift = Math.Max(0, BitOperations.Log2(value | 1) - LinearBits);
        return (shift << LinearBits) + (int)(value >> shift);
    }
}
