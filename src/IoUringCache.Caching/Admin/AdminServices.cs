using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Admin;

/// <summary>What the operator's side looks at and changes. Immutable; any thread.</summary>
/// <param name="Store">Objects.</param>
/// <param name="Fills">Fills in flight.</param>
/// <param name="Markers">Keys that are not shared.</param>
/// <param name="Purger">Takes objects out of use.</param>
/// <param name="Metrics">Counters and durations.</param>
/// <param name="Collector">All figures as text.</param>
/// <param name="Time">The service's clock.</param>
/// <param name="Life">Of the public application: whether it has started, and stopping it as SIGTERM does.</param>
internal sealed record AdminServices(
    ObjectStore Store,
    FillTable Fills,
    KeyMarkers Markers,
    Purger Purger,
    CacheMetrics Metrics,
    MetricsCollector Collector,
    TimeProvider Time,
    IHostApplicationLifetime Life);
