using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Hosting;

/// <summary>
/// The cache in front of an end point of the application. Upgrades, and targets that cannot be a key, go to the end point as if there were none.
/// Binding to the application's cache with the first request. Any thread; one per end point.
/// </summary>
internal sealed class CachedEndpoint(RequestDelegate endpoint, RoutePlan plan)
{
    /// <summary>Stands for the application in references; each key has the host that was asked.</summary>
    private static readonly string[] s_base = ["http://localhost"];

    private readonly Lock _lock = new();
    private volatile Binding? _binding;

    /// <summary>Without the cache.</summary>
    public RequestDelegate Endpoint => endpoint;

    public Task HandleAsync(HttpContext context)
    {
        Binding binding = _binding ?? Bind(context);
        return IsUpgrade(context) || plan.Keys.Read(context, binding.Route, out ObjectAddress address) != TargetVerdict.Valid
            ? endpoint(context)
            : binding.Cache.Objects(context, address);
    }

    private static bool IsUpgrade(HttpContext context) =>
        context.Features.Get<IHttpUpgradeFeature>()?.IsUpgradableRequest == true
        || context.Features.Get<IHttpExtendedConnectFeature>()?.IsExtendedConnect == true
        || HttpMethods.IsConnect(context.Request.Method);

    private Binding Bind(HttpContext context)
    {
        CacheEngine cache = CacheStart.CacheOf(context);
        lock (_lock)
        {
            return _binding ??= new(plan.MakeRoute(cache, cache.OriginIn(endpoint), s_base), cache);
        }
    }

    private sealed record Binding(CacheRoute Route, CacheEngine Cache);
}
