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
