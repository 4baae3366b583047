using IoUringCache.Caching.Engine;

namespace IoUringCache.Caching.Admin;

/// <summary>What the operator's side looks at and changes. Immutable; any thread.</summary>
/// <param name="Cache">All of it.</param>
/// <param name="Time">Its clock.</param>
/// <param name="Life">Of the application that serves: whether it has started, and stopping it as SIGTERM does.</param>
internal sealed record AdminServices(CacheEngine Cache, TimeProvider Time, IHostApplicationLifetime Life);
