using CachingService.Options;

namespace CachingService.Routes;

/// <summary>
/// The buckets of the routes that have a rate limit. A route that has the same place and limit after a reload keeps them. Immutable; any thread; owned
/// by <see cref="RouteMap"/>.
/// </summary>
internal sealed class RateLimits : IDisposable
{
    public static readonly RateLimits None = new([], null);

    private readonly Dictionary<(string Place, RateLimitOptions Limit), NetworkBuckets> _buckets = [];

    /// <param name="before">Those of the routes before, which may go on here.</param>
    public RateLimits(IEnumerable<ServiceRoute> routes, RateLimits? before)
    {
        foreach (ServiceRoute route in routes)
        {
            if (route.RateLimit is { } limit)
            {
                _buckets.TryAdd((route.Place, limit), before?.Of(route) ?? new(limit));
            }
        }
    }

    /// <returns><see langword="null"/> for a route without a limit.</returns>
    public NetworkBuckets? Of(ServiceRoute route) => route.RateLimit is { } limit ? _buckets.GetValueOrDefault((route.Place, limit)) : null;

    /// <summary>Ends those that do not go on there.</summary>
    public void DisposeExcept(RateLimits next)
    {
        foreach (NetworkBuckets buckets in _buckets.Values.Except(next._buckets.Values))
        {
            buckets.Dispose();
        }
    }

    public void Dispose() => DisposeExcept(None);
}
