using CachingService.Admin;
using CachingService.Disk;
using CachingService.Options;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>What every fill of a service works with; a disk tier only where there is one. Immutable; any thread.</summary>
internal sealed record FillServices(
    OriginAttempts Attempts,
    ObjectStore Store,
    KeyMarkers Markers,
    MemoryLedger Ledger,
    CacheMetrics Metrics,
    CacheOptions Options,
    TimeProvider Time,
    ILogger<FillServices> Log,
    DiskTier? Disk = null);
