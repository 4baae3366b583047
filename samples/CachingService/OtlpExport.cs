using IoUringCache.Caching.Telemetry;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;

namespace CachingService;

/// <summary>Sends the figures of service and transport to a collector, by OTLP over HTTP, at intervals and at the end. Any thread.</summary>
internal static class OtlpExport
{
    private const string MetricsPath = "/v1/metrics";

    /// <param name="metrics">The service whose meter is sent; those of other services in the process are not.</param>
    /// <param name="endpoint">Base URL of the collector.</param>
    /// <param name="interval">Between two exports.</param>
    public static MeterProvider Start(CacheMetrics metrics, string endpoint, TimeSpan interval) => Sdk.CreateMeterProviderBuilder()
        .ConfigureResource(static resource => resource.Clear().AddAttributes([new("service.name", nameof(CachingService))]))
        .AddMeter(CacheMetrics.MeterName, MetricsCollector.TransportMeterName)
        .AddView(instrument => instrument.Meter.Name == MetricsCollector.TransportMeterName || ReferenceEquals(instrument.Meter.Scope, metrics)
            ? null
            : MetricStreamConfiguration.Drop)
        .AddOtlpExporter((exporter, reader) =>
        {
            (exporter.Endpoint, exporter.Protocol) = (new(endpoint.TrimEnd('/') + MetricsPath), OtlpExportProtocol.HttpProtobuf);
            reader.PeriodicExportingMetricReaderOptions.ExportIntervalMilliseconds = (int)interval.TotalMilliseconds;
        })
        .Build();
}
