using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Telemetry;

/// <summary>Counts and quantiles of durations.</summary>
public sealed class LatencyHistogramTests
{
    [Fact]
    public void Quantile_OfRandomDurations_IsWrongByNoMoreThanASixteenth()
    {
        Random random = new(5);
        LatencyHistogram histogram = new();
        double[] all = [.. Enumerable.Range(0, 20_000).Select(_ => Math.Pow(10, random.NextDouble() * 8))];
        Array.ForEach(all, microseconds => histogram.Record(TimeSpan.FromMicroseconds(microseconds)));
        Array.Sort(all);

        LatencySnapshot snapshot = histogram.Read();

        Assert.Equal(all.Length, snapshot.Count);
        Assert.InRange(snapshot.Sum.TotalMicroseconds / all.Sum(), 0.97, 1.03);
        foreach (double share in (double[])[0.001, 0.5, 0.9, 0.99, 0.999, 1])
        {
            double exact = all[(int)Math.Ceiling(share * all.Length) - 1];
            Assert.InRange(snapshot.Quantile(share).TotalMicroseconds, exact, (exact * 17 / 16) + 1);
        }

        for (int power = 4; power <= 26; power++)
        {
            Assert.Equal(all.Count(microseconds => microseconds < 1L << power), snapshot.CountBelow(1L << power));
        }
    }

    [Theory]
    [InlineData(0, 1)]
    [InlineData(-5, 1)]
    [InlineData(15, 16)]
    [InlineData(16, 17)]
    [InlineData(31, 32)]
    [InlineData(32, 34)]
    [InlineData(33, 34)]
    [InlineData(4_294_967_295, 4_294_967_296)]
    [InlineData(900_000_000_000, 4_294_967_296)]
    public void Duration_LiesInABucketThatEnds(long microseconds, long end)
    {
        LatencyHistogram histogram = new();
        histogram.Record(TimeSpan.FromMicroseconds(microseconds));

        Assert.Equal((1, end), (histogram.Read().Count, (long)histogram.Read().Quantile(0.5).TotalMicroseconds));
    }

    [Fact]
    public void Quantile_OfNothing_IsZero() => Assert.Equal(TimeSpan.Zero, new LatencyHistogram().Read().Quantile(0.99));
}
