using System.Collections.Frozen;
using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Finds the route of a request: first by its host, where a name comes before a star and the longer star before the shorter, and all of them before
/// routes for all hosts; then by the longest prefix. Immutable; any thread.
/// </summary>
internal sealed class GateTable
{
    private readonly FrozenDictionary<string, GateRoute[]> _ofHosts;
    private readonly (string Suffix, GateRoute[] Routes)[] _ofSuffixes;
    private readonly GateRoute[] _ofAll;

    /// <param name="routes">In any order; of two that are alike the first counts.</param>
    /// <param name="methods">For <c>Allow</c>, in an answer about the service as a whole.</param>
    public GateTable(IReadOnlyList<GateRoute> routes, string methods)
    {
        Methods = methods;
        (string Host, GateRoute[] Routes)[] ofHosts =
        [
            .. routes
                .SelectMany(static route => route.Hosts.Select(host => (Host: WithoutRoot(host), Route: route)))
                .GroupBy(static item => item.Host, static (host, items) => (host, LongestFirst(items.Select(static item => item.Route)))),
        ];
        _ofHosts = ofHosts.Where(static item => !IsStar(item.Host))
            .ToFrozenDictionary(static item => item.Host, static item => item.Routes, StringComparer.OrdinalIgnoreCase);
        _ofSuffixes =
        [
            .. ofHosts.Where(static item => IsStar(item.Host))
                .Select(static item => (item.Host[1..], item.Routes))
                .OrderByDescending(static item => item.Item1.Length),
        ];
        _ofAll = LongestFirst(routes.Where(static route => route.Hosts.Count == 0));
    }

    /// <summary>What objects may be asked for by.</summary>
    public string Methods { get; }

    /// <summary>Where the objects are, with a slash at both ends; / for a whole site.</summary>
    public string PublicPath { get; init; } = "/";

    /// <summary><see langword="null"/> where no route refuses clients.</summary>
    public SpellingGuard? Guard { get; init; }

    /// <param name="pathAndQuery">Of its target, which is valid.</param>
    /// <returns><see langword="null"/> if no route is for it.</returns>
    public GateRoute? Find(HttpRequest request, string pathAndQuery) =>
        (_ofHosts.Count > 0 || _ofSuffixes.Length > 0) && FindOfHost(WithoutRoot(request.Host.Host), pathAndQuery) is { } found ? found : Find(_ofAll, pathAndQuery);

    private GateRoute? FindOfHost(string host, string pathAndQuery)
    {
        if (_ofHosts.TryGetValue(host, out GateRoute[]? routes) && Find(routes, pathAndQuery) is { } named)
        {
            return named;
        }

        foreach ((string suffix, GateRoute[] below) in _ofSuffixes)
        {
            if (host.Length > suffix.Length && host.EndsWith(suffix, StringComparison.OrdinalIgnoreCase) && Find(below, pathAndQuery) is { } found)
            {
                return found;
            }
        }

        return null;
    }

    private static GateRoute? Find(GateRoute[] longestFirst, string pathAndQuery)
    {
        foreach (GateRoute route in longestFirst)
        {
            if (pathAndQuery.StartsWith(route.Prefix, StringComparison.Ordinal))
            {
                return route;
            }
        }

        return null;
    }

    private static GateRoute[] LongestFirst(IEnumerable<GateRoute> routes) => [.. routes.OrderByDescending(static route => route.Prefix.Length)];

    private static bool IsStar(string host) => host.StartsWith('*');

    /// <summary>A dot at the end stands for the root of all names (RFC 1034 3.1): with and without it the host is the same.</summary>
    private static string WithoutRoot(string host) => host.EndsWith('.') ? host[..^1] : host;
}

/// <summary>Requests whose objects come from one place, by one set of rules. Immutable; any thread.</summary>
/// <param name="Hosts">In lower case; <c>*.</c> in front stands for each host below. None: all hosts.</param>
/// <param name="Prefix">First bytes of the raw paths.</param>
/// <param name="Keys">Makes their keys; strips no more than the prefix.</param>
internal sealed record GateRoute(IReadOnlyList<string> Hosts, string Prefix, CacheRoute Route, KeyRule Keys, ObjectHandler Objects)
{
    /// <summary>Whether it refuses clients, so that its paths must not be had by another route.</summary>
    public bool IsGuarded { get; init; }
}
