using System.Numerics;

namespace IoUringCache.Caching.Telemetry;

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
