using CachingService.Options;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>Makes routes of their options, with the origins that they need. One thread at a time; one per service.</summary>
/// <param name="demo">Address of the embedded origin, where no other is named.</param>
internal sealed class RouteMap(CacheEngine cache, string? demo) : IDisposable
{
    private readonly RouteRefusals _refusals = new(cache.Answers, cache.Metrics);
    private IReadOnlyList<string>[] _origins = [];
    private RateLimits _limits = RateLimits.None;

    /// <summary>Makes all of them. Origins, and buckets of rate limits, that only the routes before had are given up; the others go on.</summary>
    /// <exception cref="OptionException">A directory cannot be served; the origins are as before.</exception>
    public GateTable Make(IReadOnlyList<ServiceRoute> options)
    {
        IReadOnlyList<string>[] origins =
            [.. options.Select(route => UrlsOf(route.Origin)).Where(static urls => urls.Count > 0).DistinctBy(static urls => string.Join(';', urls))];
        string methods = origins.Length > 0 ? MethodRules.Allowed : MethodRules.AllowedOfFiles;
        foreach (string path in options.Select(static route => route.Origin.Directory).OfType<string>())
        {
            cache.OpenDirectory(path);
        }

        RateLimits limits = new(options, _limits);
        KeyRule[] rules = [.. ServiceRoute.MakeRules(options)];
        PurgePlace[] places = [.. options.Zip(rules, PlaceOf).Where((_, index) => options[index].Origin.Directory is null)];
        GateRoute[] routes = [.. options.Zip(rules, (route, keys) => Make(route, keys, limits, places))];
        GateTable table = new(routes, methods)
        {
            PublicPath = options[0].Keys.PublicPath,
            Guard = routes.Any(static route => route.IsGuarded) ? new(routes) : null,
        };
        foreach (IReadOnlyList<string> urls in _origins.Where(urls => !origins.Any(urls.SequenceEqual)))
        {
            cache.DropOrigin(urls);
        }

        _limits.DisposeExcept(limits);
        (_origins, _limits) = (origins, limits);
        return table;
    }

    public void Dispose() => _limits.Dispose();

    private GateRoute Make(ServiceRoute options, KeyRule keys, RateLimits limits, PurgePlace[] places)
    {
        IReadOnlyList<string> urls = UrlsOf(options.Origin);
        ObjectHandler objects = options.Origin.Directory is { } path ? cache.FilesOf(cache.OpenDirectory(path)) : cache.Objects;
        OwnReferences? rewrites = options.RewriteLocations && urls.Count > 0 ? new(urls, options.StrippedPrefix) : null;
        RouteTable policies = RouteTable.Of(options.Policy);
        CacheRoute route = new(
            urls.Count > 0 ? cache.OriginAt(urls) : null, cache.Live, _ => policies, rewrites?.Public ?? (urls.Count > 0 ? new(urls) : null))
        {
            KeepsHost = options.Keys.PassHost,
            OriginHost = options.OriginHost,
            Rewrites = rewrites,
            KeyFields = keys.Fields,
            PurgePlaces = _ => options.Hosts.Length > 0 ? places.Select(static place => place.ForRoutesWithHosts()) : places,
        };
        return new(options.Hosts, options.Prefix, route, keys, Decorate(objects, options, limits.Of(options)))
        {
            IsGuarded = options.RefusesClients,
        };
    }

    private static PurgePlace PlaceOf(ServiceRoute route, KeyRule keys)
    {
        string path = keys.CountsPrefix ? route.Prefix : route.Prefix[keys.StrippedPrefix.Length..];
        return new(route.Hosts, keys.CountsHost ? path : keys.OneHost + path, route.Policy.PurgeFrom) { HasClientHosts = keys.CountsHost };
    }

    /// <summary>The last stands in front. Scripts of other origins may know that they are refused, but for networks; their preflights are neither counted nor signed.</summary>
    private ObjectHandler Decorate(ObjectHandler objects, ServiceRoute options, NetworkBuckets? buckets)
    {
        if (options.SignedUrlKeys is { } secrets)
        {
            objects = new SignatureRule(secrets, cache.Time, _refusals).Before(objects);
        }

        if (buckets is not null)
        {
            objects = new RateRule(buckets, cache.Live, _refusals).Before(objects);
        }

        if (options.CrossOrigin is { } crossOrigin)
        {
            objects = new CrossOriginRule(crossOrigin).Before(objects);
        }

        if (!options.AllowFrom.IsEmpty || !options.DenyFrom.IsEmpty)
        {
            objects = new NetworkRule(options.AllowFrom, options.DenyFrom, cache.Live, _refusals).Before(objects);
        }

        return options.ResponseFields.Fields.Count > 0 ? new ResponseFieldRule(options.ResponseFields.Fields).Before(objects) : objects;
    }

    private IReadOnlyList<string> UrlsOf(RouteOrigin origin) => origin.IsNone ? [demo!] : origin.Urls;
}
