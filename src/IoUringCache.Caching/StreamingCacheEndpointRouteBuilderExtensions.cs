using System.Diagnostics.CodeAnalysis;
using IoUringCache.Caching;
using IoUringCache.Caching.Admin;
using IoUringCache.Caching.Hosting;
using IoUringCache.Caching.Options;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Maps patterns to origins behind the streaming cache.</summary>
public static class StreamingCacheEndpointRouteBuilderExtensions
{
    /// <summary>
    /// Maps a pattern to an origin: a caching reverse proxy. Requests by GET and HEAD are answered from the store, join the fetch in flight, or
    /// start the one fetch; all others go to the origin. The origin gets path and query as they came over the wire.
    /// </summary>
    /// <param name="endpoints">The application's end points. Its services have <c>AddStreamingCache</c>.</param>
    /// <param name="pattern">A route pattern, for example <c>/object/{**id}</c>.</param>
    /// <param name="origin">
    /// Base URL of an HTTP/1.1 origin, for example <c>http://origin:9000</c>; or a directory, for example <c>file:///srv/files</c>, whose files
    /// are served as they are.
    /// </param>
    /// <param name="configure">Sets the options of the route. Defaults to <see langword="null"/>.</param>
    /// <returns>A builder for the metadata of the end point, such as <c>RequireHost</c> and <c>RequireAuthorization</c>.</returns>
    /// <exception cref="ArgumentException">The URL or an option of the route is wrong, or there is no such directory; the message names it.</exception>
    /// <exception cref="InvalidOperationException"><c>AddStreamingCache</c> was not called.</exception>
    /// <example><code>
    /// app.MapStreamingCache("/object/{**id}", "http://origin:9000");
    /// </code></example>
    public static IEndpointConventionBuilder MapStreamingCache(
        this IEndpointRouteBuilder endpoints,
        [StringSyntax("Route")] string pattern,
        string origin,
        Action<StreamingCacheRouteOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(origin);
        OriginAddress address = Parse(AddressParser.OriginOrDirectory, origin, nameof(origin));
        if (address.Directory is not null && !Directory.Exists(address.Directory))
        {
            throw new ArgumentException($"'{origin}' is no directory.", nameof(origin));
        }

        return address.Directory is null
            ? endpoints.MapStreamingCache(pattern, [origin], configure)
            : endpoints.MapRoute(pattern, [], address.Directory, configure);
    }

    /// <summary>
    /// Maps a pattern to an origin that has several addresses, all with the same objects; otherwise as
    /// <see cref="MapStreamingCache(IEndpointRouteBuilder, string, string, Action{StreamingCacheRouteOptions}?)"/>.
    /// </summary>
    /// <param name="endpoints">The application's end points. Its services have <c>AddStreamingCache</c>.</param>
    /// <param name="pattern">A route pattern, for example <c>/{**path}</c>.</param>
    /// <param name="origins">Base URLs, at least one and no two the same. A request goes to the first whose circuit is closed.</param>
    /// <param name="configure">Sets the options of the route. Defaults to <see langword="null"/>.</param>
    /// <returns>A builder for the metadata of the end point.</returns>
    /// <exception cref="ArgumentException">A URL, or an option of the route, is wrong; the message names it.</exception>
    /// <exception cref="InvalidOperationException"><c>AddStreamingCache</c> was not called.</exception>
    /// <example><code>
    /// app.MapStreamingCache("/{**path}", new[] { "http://a:9000", "http://b:9000" });
    /// </code></example>
    public static IEndpointConventionBuilder MapStreamingCache(
        this IEndpointRouteBuilder endpoints,
        [StringSyntax("Route")] string pattern,
        IEnumerable<string> origins,
        Action<StreamingCacheRouteOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(origins);
        string[] urls = Parse(AddressParser.Origins, string.Join(';', origins), nameof(origins));
        return urls.Length == 0
            ? throw new ArgumentException("Expected at least one URL.", nameof(origins))
            : endpoints.MapRoute(pattern, urls, directory: null, configure);
    }

    /// <summary>
    /// Maps the operator's end points below a prefix: <c>GET metrics</c> (Prometheus text), <c>stats</c>, <c>fills</c>, <c>entry?key=</c>,
    /// <c>POST purge?key=|prefix=|tag=|all</c>. All but the metrics need the token, or what <c>RequireAuthorization</c> asks for on the builder that is
    /// returned; with neither they answer 403.
    /// </summary>
    /// <param name="endpoints">The application's end points. Its services have <c>AddStreamingCache</c>.</param>
    /// <param name="prefix">Before their names. Defaults to <c>/cache</c>.</param>
    /// <param name="token">Bearer token, 16 characters or more. Defaults to <see langword="null"/>: none.</param>
    /// <returns>A builder for the metadata of all of them.</returns>
    /// <exception cref="ArgumentException">The token is too short.</exception>
    /// <exception cref="InvalidOperationException"><c>AddStreamingCache</c> was not called.</exception>
    /// <example><code>
    /// app.MapStreamingCacheAdmin().RequireAuthorization("operators");
    /// </code></example>
    public static IEndpointConventionBuilder MapStreamingCacheAdmin(
        this IEndpointRouteBuilder endpoints, [StringSyntax("Route")] string prefix = "/cache", string? token = null)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        RequireCache(endpoints);
        if (token is not null && !AdminOptions.IsToken(token))
        {
            throw new ArgumentException("Expected 16 letters, digits or any of -._~+/= at least.", nameof(token));
        }

        RouteGroupBuilder group = endpoints.MapGroup(prefix);
        AdminEndpoints.Map(
            group,
            CacheStart.CacheOf,
            static context => context.RequestServices.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping,
            new(token));
        return group;
    }

    private static IEndpointConventionBuilder MapRoute(
        this IEndpointRouteBuilder endpoints, string pattern, string[] urls, string? directory, Action<StreamingCacheRouteOptions>? configure)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(pattern);
        RequireCache(endpoints);
        StreamingCacheRouteOptions options = new();
        configure?.Invoke(options);
        RoutedCache route = new(new(options, isEndpoint: false), urls, directory);
        return endpoints.Map(pattern, route.HandleAsync).WithDisplayName($"Streaming cache {pattern}");
    }

    private static void RequireCache(IEndpointRouteBuilder endpoints)
    {
        if (endpoints.ServiceProvider.GetService<IServiceProviderIsService>()?.IsService(typeof(IStreamingCache)) == false)
        {
            throw new InvalidOperationException(CacheStart.NoCache);
        }
    }

    private static T Parse<T>(Func<string, T> parse, string text, string name)
    {
        try
        {
            return parse(text);
        }
        catch (FormatException failure)
        {
            throw new ArgumentException($"'{text}' is not valid: {failure.Message}", name);
        }
    }
}
