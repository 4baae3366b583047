using BenchmarkDotNet.Attributes;
using CachingService;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Benchmarks;

/// <summary>What counting its duration costs a request of the caching service, on one thread: without and with an export by OTLP.</summary>
public class DurationBenchmarks
{
    private const int Calls = 10_000_000;

    private static readonly TimeSpan s_duration = TimeSpan.FromMicroseconds(60);

    private readonly CacheMetrics _counted = new();
    private readonly CacheMetrics _exported = new();
    private OtlpExport _export = null!;

    /// <summary>Nobody listens at that address, and nothing is sent before the end.</summary>
    [GlobalSetup]
    public void Start() => _export = OtlpExport.Start(
        _exported, new() { Url = null, Token = null, OtlpEndpoint = "http://127.0.0.1:9", OtlpInterval = TimeSpan.FromHours(1), OtlpTraces = 0 })!;

    [Benchmark(Baseline = true, OperationsPerInvoke = Calls)]
    public void Counted() => Record(_counted);

    [Benchmark(OperationsPerInvoke = Calls)]
    public void Exported() => Record(_exported);

    [GlobalCleanup]
    public void Stop()
    {
        _export.Dispose();
        _counted.Dispose();
        _exported.Dispose();
    }

    private static void Record(CacheMetrics metrics)
    {
        for (int call = 0; call < Calls; call++)
        {
            metrics.Durations.Record(RequestOutcome.Hit, s_duration);
        }
    }
}
