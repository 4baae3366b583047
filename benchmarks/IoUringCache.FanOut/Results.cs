using System.Diagnostics;
using System.Globalization;

namespace IoUringCache.FanOut;

/// <summary>What the readers have seen: delays of the chunks that were written in the time measured, and everything wrong. One thread.</summary>
internal sealed class Results
{
    /// <summary>Microseconds; what is later counts as this.</summary>
    private const int LongestDelay = 5_000_000;

    private static readonly double[] s_percentiles = [50, 75, 90, 95, 99, 99.9, 100];

    private readonly int[] _delays = new int[LongestDelay + 1];
    private long _from = long.MaxValue;
    private long _to = long.MaxValue;

    /// <summary>Chunks delivered in the time measured.</summary>
    internal long ChunkCount { get; private set; }

    internal long ByteErrors { get; private set; }

    /// <summary>The first thing that went wrong, for the message.</summary>
    internal string? FirstError { get; private set; }

    internal void BeginMeasuring() => _from = Stopwatch.GetTimestamp();

    internal void EndMeasuring() => _to = Stopwatch.GetTimestamp();

    internal void Delivered(long stamp, long now)
    {
        if (stamp < _from || stamp >= _to)
        {
            return;
        }

        long delay = (long)Stopwatch.GetElapsedTime(stamp, now).TotalMicroseconds;
        _delays[Math.Clamp(delay, 0, LongestDelay)]++;
        ChunkCount++;
    }

    internal void Wrong(int bytes, string what)
    {
        ByteErrors += bytes;
        FirstError ??= what;
    }

    /// <summary>The delays that so many per cent of the chunks did not exceed.</summary>
    internal Dictionary<string, double> PercentilesInMilliseconds()
    {
        Dictionary<string, double> delays = [];
        foreach (double percentile in s_percentiles)
        {
            delays[percentile.ToString(CultureInfo.InvariantCulture)] = Percentile(percentile / 100) / 1000.0;
        }

        return delays;
    }

    /// <summary>The delay that this share of the chunks did not exceed, in microseconds.</summary>
    private long Percentile(double share)
    {
        long wanted = (long)Math.Ceiling(share * ChunkCount);
        int delay = 0;
        for (long seen = _delays[0]; seen < wanted; seen += _delays[delay])
        {
            delay++;
        }

        return delay;
    }
}
