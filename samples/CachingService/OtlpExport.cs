using System.Diagnostics;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;

namespace CachingService;

/// <summary>
/// Sends the figures of service and transport to a collector, by OTLP over HTTP, at intervals and at the end; and spans, where they are asked for. Any
/// thread; owned by the service.
/// </summary>
internal sealed class OtlpExport : IDisposable
{
    /// <summary>The exporter's default.</summary>
    private static readonly TimeSpan s_longestDelayOfSpans = TimeSpan.FromSeconds(5);

    private readonly MeterProvider _metrics;
    private readonly TracerProvider? _spans;

    private OtlpExport(MeterProvider metrics, TracerProvider? spans) => (_metrics, _spans) = (metrics, spans);

    /// <param name="metrics">The service whose meter is sent; those of other services in the process are not.</param>
    /// <returns><see langword="null"/> where there is no collector.</returns>
    public static OtlpExport? Start(CacheMetrics metrics, AdminOptions options) => options.OtlpEndpoint is not { } endpoint
        ? null
        : new(SendMetrics(metrics, endpoint.TrimEnd('/'), options.OtlpInterval), options.OtlpTraces == 0 ? null : SendSpans(endpoint.TrimEnd('/'), options));

    public void Dispose()
    {
        _metrics.Dispose();
        _spans?.Dispose();
    }

    private static MeterProvider SendMetrics(CacheMetrics metrics, string endpoint, TimeSpan interval) => Sdk.CreateMeterProviderBuilder()
        .ConfigureResource(Describe)
        .AddMeter(CacheMetrics.MeterName, MetricsCollector.TransportMeterName)
        .AddView(instrument => instrument.Meter.Name == MetricsCollector.TransportMeterName || ReferenceEquals(instrument.Meter.Scope, metrics)
            ? null
            : MetricStreamConfiguration.Drop)
        .AddOtlpExporter((exporter, reader) =>
        {
            (exporter.Endpoint, exporter.Protocol) = (new($"{endpoint}/v1/metrics"), OtlpExportProtocol.HttpProtobuf);
            reader.PeriodicExportingMetricReaderOptions.ExportIntervalMilliseconds = (int)interval.TotalMilliseconds;
        })
        .Build();

    private static TracerProvider SendSpans(string endpoint, AdminOptions options) => Sdk.CreateTracerProviderBuilder()
        .ConfigureResource(Describe)
        .AddSource(RequestSpan.SourceName, CacheMetrics.MeterName)
        .SetSampler(new ParentBasedSampler(new ClientRequestSampler()))
        .AddOtlpExporter(exporter =>
        {
            (exporter.Endpoint, exporter.Protocol) = (new($"{endpoint}/v1/traces"), OtlpExportProtocol.HttpProtobuf);
            exporter.BatchExportProcessorOptions = new()
            {
                ScheduledDelayMilliseconds = (int)Math.Min(options.OtlpInterval.TotalMilliseconds, s_longestDelayOfSpans.TotalMilliseconds),
            };
        })
        .Build();

    private static void Describe(ResourceBuilder resource) => resource.Clear().AddAttributes([new("service.name", nameof(CachingService))]);

    /// <summary>
    /// A trace that no client has begun begins with the request of a client, of which <see cref="RequestSpan"/> has chosen some; never with what the
    /// cache does by itself. Immutable.
    /// </summary>
    private sealed class ClientRequestSampler : Sampler
    {
        public override SamplingResult ShouldSample(in SamplingParameters parameters) =>
            new(parameters.Kind == ActivityKind.Server ? SamplingDecision.RecordAndSample : SamplingDecision.Drop);
    }
}
