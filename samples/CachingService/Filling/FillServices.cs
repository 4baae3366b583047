using CachingService.Admin;
using CachingService.Options;
using CachingService.Storage;

namespace CachingService.Filling;

/// <summary>What every fill of a service works with. Immutable; any thread.</summary>
internal sealed record FillServices(
    OriginAttempts Attempts,
    ObjectStore Store,
    PurgeEpochs Purges,
    KeyMarkers Markers,
    MemoryLedger Ledger,
    CacheMetrics Metrics,
    CacheOptions Options,
    TimeProvider Time,
    ILogger<FillServices> Log);
