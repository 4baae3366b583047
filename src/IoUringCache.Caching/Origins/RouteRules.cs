using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>What holds for the objects of a route. Immutable; any thread.</summary>
/// <param name="Freshness">How long they are kept where the origin does not say.</param>
/// <param name="Policies">What may differ by prefix.</param>
internal sealed record RouteRules(FreshnessPolicy Freshness, RouteTable Policies)
{
    /// <summary>Those of a route that has none of its own.</summary>
    public static RouteRules Of(CacheOptions options) => new(options.Freshness, options.Routes);
}
