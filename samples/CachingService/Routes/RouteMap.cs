using CachingService.Options;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>Makes routes of their options, with the origins that they need. One thread at a time; one per service.</summary>
/// <param name="cache">Answers their requests, and has their origins.</param>
/// <param name="demo">Address of the embedded origin, where no other is named.</param>
internal sealed class RouteMap(CacheEngine cache, string? demo)
{
    private IReadOnlyList<string>[] _origins = [];

    /// <summary>Makes all of them. Origins that only the routes before had are given up.</summary>
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

        GateTable table = new([.. options.Zip(ServiceRoute.MakeRules(options), Make)], methods);
        foreach (IReadOnlyList<string> urls in _origins.Where(urls => !origins.Any(urls.SequenceEqual)))
        {
            cache.DropOrigin(urls);
        }

        _origins = origins;
        return table;
    }

    private GateRoute Make(ServiceRoute options, KeyRule keys)
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
        };
        return new(options.Hosts, options.Prefix, route, keys, Decorate(objects, options));
    }

    private ObjectHandler Decorate(ObjectHandler objects, ServiceRoute options)
    {
        if (options.CrossOrigin is { } crossOrigin)
        {
            objects = new CrossOriginRule(crossOrigin.Policy).Before(objects);
        }

        if (!options.AllowFrom.IsEmpty || !options.DenyFrom.IsEmpty)
        {
            objects = new NetworkRule(options.AllowFrom, options.DenyFrom, cache.Live, cache.Answers).Before(objects);
        }

        return options.ResponseFields.Fields.Count > 0 ? new ResponseFieldRule(options.ResponseFields.Fields).Before(objects) : objects;
    }

    private IReadOnlyList<string> UrlsOf(RouteOrigin origin) => origin.IsNone ? [demo!] : origin.Urls;
}
