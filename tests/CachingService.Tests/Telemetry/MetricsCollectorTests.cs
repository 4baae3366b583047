using System.Diagnostics.Metrics;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Telemetry;

/// <summary>The text of instruments of every kind, from the transport's meter.</summary>
public sealed class MetricsCollectorTests
{
    [Fact]
    public void Reasons_AreThereFromTheStart_AndNoOthers()
    {
        using CacheMetrics metrics = new();
        using MetricsCollector collector = new(metrics);
        metrics.Refused("hold-time");
        metrics.Refused("something-new");
        metrics.ReadersCut(CutReason.Memory, 2);

        string[] lines = collector.Write().Split('\n');

        Assert.All(
            [
                "cache_refusals_total{reason=\"hold-time\"} 1", "cache_refusals_total{reason=\"overload\"} 0", "cache_refusals_total{reason=\"other\"} 1",
                "cache_readers_cut_total{reason=\"memory\"} 2", "cache_readers_cut_total{reason=\"rate\"} 0",
            ],
            line => Assert.Contains(line, lines));
        Assert.DoesNotContain(lines, static line => line.Contains("something-new", StringComparison.Ordinal));
        Assert.Equal((2L, 2L), (metrics.Refusals, metrics.CutReaders));
    }

    [Fact]
    public void Write_TransportInstruments_AreListedByKindWithTags()
    {
        using CacheMetrics metrics = new();
        using MetricsCollector collector = new(metrics);
        using Meter meter = new("IoUringCache.Transport");
        Counter<long> submissions = meter.CreateCounter<long>("test.iouring.submissions", description: "Operations.");
        Histogram<int> batches = meter.CreateHistogram<int>("test.iouring.batch.size");
        UpDownCounter<long> level = meter.CreateUpDownCounter<long>("test.iouring.level");
        submissions.Add(3, new KeyValuePair<string, object?>("loop", 0));
        submissions.Add(4, new KeyValuePair<string, object?>("loop", 0));
        submissions.Add(5, new KeyValuePair<string, object?>("loop", "a\"b"));
        batches.Record(1);
        batches.Record(3);
        batches.Record(5000);
        level.Add(5);
        level.Add(-2);

        string[] lines = collector.Write().Split('\n');

        Assert.All(
            [
                "# HELP test_iouring_submissions_total Operations.", "# TYPE test_iouring_submissions_total counter",
                "test_iouring_submissions_total{loop=\"0\"} 7", "test_iouring_submissions_total{loop=\"a\\\"b\"} 5",
                "# TYPE test_iouring_batch_size histogram", "test_iouring_batch_size_bucket{le=\"1\"} 1",
                "test_iouring_batch_size_bucket{le=\"2\"} 1",
                "test_iouring_batch_size_bucket{le=\"4\"} 2", "test_iouring_batch_size_bucket{le=\"+Inf\"} 3",
                "test_iouring_batch_size_sum 5004",
                "test_iouring_batch_size_count 3", "# TYPE test_iouring_level gauge", "test_iouring_level 3",
            ],
            line => Assert.Contains(line, lines));
    }

    [Fact]
    public void Write_WhatIsObserved_IsThatOfNow()
    {
        using CacheMetrics metrics = new();
        using MetricsCollector collector = new(metrics);
        string[] origins = ["a", "b"];
        metrics.Gauge("test.age", "s", "Of each.", () => origins.Select(static origin =>
            new Measurement<long>(3, new KeyValuePair<string, object?>("origin", origin), new KeyValuePair<string, object?>("is_new", true))));
        Assert.Equal(
            ["test_age_seconds{is_new=\"true\",origin=\"a\"} 3", "test_age_seconds{is_new=\"true\",origin=\"b\"} 3"],
            collector.Write().Split('\n').Where(static line => line.StartsWith("test_", StringComparison.Ordinal)));

        origins = ["b"];

        Assert.Equal(
            ["test_age_seconds{is_new=\"true\",origin=\"b\"} 3"],
            collector.Write().Split('\n').Where(static line => line.StartsWith("test_", StringComparison.Ordinal)));
        Assert.Single(collector.Read(), static figure => figure.Name.StartsWith("test_", StringComparison.Ordinal));
    }

    [Fact]
    public void Write_AnotherServicesMeter_IsNotListed()
    {
        using CacheMetrics mine = new();
        using CacheMetrics other = new();
        using MetricsCollector collector = new(mine);
        mine.Found(RequestOutcome.Hit);
        other.Found(RequestOutcome.Hit);
        other.Found(RequestOutcome.Hit);

        Assert.Contains("cache_hits_total 1", collector.Write().Split('\n'));
    }
}
