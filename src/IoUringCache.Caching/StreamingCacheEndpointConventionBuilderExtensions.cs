using IoUringCache.Caching;
using IoUringCache.Caching.Hosting;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Puts the streaming cache in front of end points of the application.</summary>
public static class StreamingCacheEndpointConventionBuilderExtensions
{
    /// <summary>
    /// Puts the cache in front of an end point, or of all end points of a group or of YARP's <c>MapReverseProxy</c>. For requests by GET and
    /// HEAD it runs once for all who wait, on a context of its own, with the client's path, query, host and route values, and without its
    /// connection, user, items and cookies; what it writes is streamed to everybody as it comes. Its <c>Cache-Control</c> counts as an origin's. Requests
    /// with bodies, credentials or other methods, and upgrades, run it on their own context. If it throws before the response has started, all get
    /// 500, and after that their answers are cut. An end point has one cache: its own options count and not those of its group, and of several calls
    /// the last.
    /// </summary>
    /// <typeparam name="TBuilder">The builder's type.</typeparam>
    /// <param name="builder">Of the end points. The application's services have <c>AddStreamingCache</c>.</param>
    /// <param name="configure">Sets the options of the route. Defaults to <see langword="null"/>.</param>
    /// <returns>The same builder.</returns>
    /// <exception cref="ArgumentException">An option of the route is wrong; the message names it.</exception>
    /// <example><code>
    /// app.MapReverseProxy().WithStreamingCache();
    /// </code></example>
    public static TBuilder WithStreamingCache<TBuilder>(this TBuilder builder, Action<StreamingCacheRouteOptions>? configure = null)
        where TBuilder : IEndpointConventionBuilder
    {
        ArgumentNullException.ThrowIfNull(builder);
        StreamingCacheRouteOptions options = new();
        configure?.Invoke(options);
        RoutePlan plan = new(options, isEndpoint: true);
        builder.Add(endpoint =>
        {
            if (endpoint.RequestDelegate is { } inner)
            {
                // Conventions of a group come before those of its end points.
                RequestDelegate plain = inner.Target is CachedEndpoint cached ? cached.Endpoint : inner;
                endpoint.RequestDelegate = new CachedEndpoint(plain, plan).HandleAsync;
            }
        });
        return builder;
    }

    /// <summary>
    /// Puts the cache in front of end points, with a lifetime for responses whose <c>Cache-Control</c> gives none; otherwise as
    /// <see cref="WithStreamingCache{TBuilder}(TBuilder, Action{StreamingCacheRouteOptions}?)"/>.
    /// </summary>
    /// <typeparam name="TBuilder">The builder's type.</typeparam>
    /// <param name="builder">Of the end points. The application's services have <c>AddStreamingCache</c>.</param>
    /// <param name="defaultTtl">Zero to 365 days.</param>
    /// <returns>The same builder.</returns>
    /// <exception cref="ArgumentException">The lifetime is out of its range.</exception>
    /// <example><code>
    /// app.MapGet("/report", BuildReport).WithStreamingCache(TimeSpan.FromMinutes(1));
    /// </code></example>
    public static TBuilder WithStreamingCache<TBuilder>(this TBuilder builder, TimeSpan defaultTtl)
        where TBuilder : IEndpointConventionBuilder =>
        builder.WithStreamingCache(route => route.DefaultTtl = defaultTtl);
}
