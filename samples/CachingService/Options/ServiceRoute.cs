using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.Cors.Infrastructure;

namespace CachingService.Options;

/// <summary>Checked values of one route, or of what no route is for; meanings in <see cref="RouteOptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record ServiceRoute
{
    /// <summary>None: all hosts.</summary>
    public required string[] Hosts { get; init; }

    /// <summary>First part of the whole path.</summary>
    public required string Prefix { get; init; }

    public required bool StripPrefix { get; init; }

    public required RouteOrigin Origin { get; init; }

    public required string? OriginHost { get; init; }

    public required bool RewriteLocations { get; init; }

    public required KeyOptions Keys { get; init; }

    public required FieldList ResponseFields { get; init; }

    public required PeerList AllowFrom { get; init; }

    public required PeerList DenyFrom { get; init; }

    /// <summary><see langword="null"/>: none.</summary>
    public required RateLimitOptions? RateLimit { get; init; }

    /// <summary><see langword="null"/>: URLs need no signature.</summary>
    public required SignedUrlKeys? SignedUrlKeys { get; init; }

    /// <summary><see langword="null"/>: as the origin says.</summary>
    public required CorsPolicy? CrossOrigin { get; init; }

    public required RoutePolicy Policy { get; init; }

    /// <summary>What the origin does not get of a path.</summary>
    public string StrippedPrefix => StripPrefix ? Prefix : Keys.PublicPath;

    /// <summary>Whether a rule of it does.</summary>
    public bool RefusesClients => !AllowFrom.IsEmpty || !DenyFrom.IsEmpty || RateLimit is not null || SignedUrlKeys is not null;

    /// <summary>Tells it from the other routes, also after a reload.</summary>
    public string Place => $"{string.Join(',', Hosts)} {Prefix}";

    /// <summary>Whether its keys could not do without the whole path: hosts count, or there is nothing that all paths have in common.</summary>
    private bool NeedsWholePaths => Keys.PassHost || Hosts.Length > 0 || StripPrefix || Keys.PublicPath == "/";

    /// <summary>The routes of a service, and what no route is for, which is the last. That is left out where only routes have origins.</summary>
    /// <exception cref="OptionException">Two do not fit together, or a directory cannot be served.</exception>
    public static ServiceRoute[] From(OptionValues values)
    {
        ServiceRoute general = Read(values);
        ServiceRoute[] routes = [.. values.Routes.Select(Read)];
        if (!general.Origin.IsNone || routes.All(static route => route.Origin.IsNone))
        {
            return [.. routes, general];
        }

        int index = Array.FindIndex(routes, static route => route.Origin.IsNone);
        return index < 0
            ? routes
            : throw new OptionException($"Option {values.Routes[index].NameOf(OptionCatalog.Origin)}: is missing, as is {OptionCatalog.Origin.Name}.");
    }

    /// <summary>How the routes make keys. As soon as one needs whole paths all have them, or a host of one could be a path of another.</summary>
    public static IEnumerable<KeyRule> MakeRules(IReadOnlyList<ServiceRoute> routes)
    {
        bool countsPrefix = routes.Any(static route => route.NeedsWholePaths);
        return routes.Select(route => route.Keys.MakeRule(route.StrippedPrefix, countsPrefix, route.FindOneHost(routes)));
    }

    /// <summary>
    /// The host that the keys of all its hosts begin with. Another route may be for this host and not for all of them: below its prefix a key would stand
    /// for an object of each route.
    /// </summary>
    /// <returns>Empty for a route without hosts; <see langword="null"/> where each host needs keys of its own.</returns>
    private string? FindOneHost(IReadOnlyList<ServiceRoute> routes) => Hosts.Length == 0 ? "" : Hosts.FirstOrDefault(host => !routes.Any(other =>
        other.Hosts.Contains(host) && other.Prefix.StartsWith(Prefix, StringComparison.Ordinal) && Hosts.Except(other.Hosts).Any()));

    private static ServiceRoute Read(OptionValues values)
    {
        KeyOptions keys = KeyOptions.From(values);
        SignedUrlKeys? secrets = SignedUrlKeys.From(values);
        string[] hosts = values.Get(RouteOptionCatalog.Hosts);
        string text = values.Get(RouteOptionCatalog.Prefix);
        string prefix = text.StartsWith('/') ? text : keys.PublicPath + text;
        bool strips = values.Get(RouteOptionCatalog.StripPrefix);
        RouteOrigin origin = RouteOrigin.Of(values);
        string? host = values.Get(RouteOptionCatalog.OriginHost);
        RefuseIf(
            !prefix.StartsWith(keys.PublicPath, StringComparison.Ordinal), RouteOptionCatalog.Prefix,
            $"'{text}' is not below {KeyOptionCatalog.PublicPath.Name}, which is {keys.PublicPath}");
        RefuseIf(
            RequestTarget.Check(prefix, out _) != TargetVerdict.Valid || prefix.Contains('?'), RouteOptionCatalog.Prefix,
            $"'{text}' is not valid: expected a path without dot segments, spaces and a query");
        RefuseIf(strips && !prefix.EndsWith('/'), RouteOptionCatalog.StripPrefix, $"cannot be given with '{text}', which ends with no slash");
        RefuseIf(keys.PassHost && host is not null, RouteOptionCatalog.OriginHost, $"cannot be given together with {KeyOptionCatalog.PassHost.Name}");
        if (origin.Directory is { } directory)
        {
            ServedDirectory.Check(values.NameOf(OptionCatalog.Origin), directory);
        }

        return new()
        {
            Hosts = hosts,
            Prefix = prefix,
            StripPrefix = strips,
            Origin = origin,
            OriginHost = host,
            RewriteLocations = values.Get(RouteOptionCatalog.RewriteLocations),
            Keys = secrets is null ? keys : keys.WithoutSignatures(),
            ResponseFields = values.Get(RouteOptionCatalog.ResponseFields),
            AllowFrom = values.Get(RouteOptionCatalog.AllowFrom),
            DenyFrom = values.Get(RouteOptionCatalog.DenyFrom),
            RateLimit = RateLimitOptions.From(values),
            SignedUrlKeys = secrets,
            CrossOrigin = CrossOriginOptions.From(values),
            Policy = RoutePolicy.From(values) with { Prefix = hosts.Length > 0 ? hosts[0] + prefix : text },
        };

        void RefuseIf(bool isWrong, Option option, string reason)
        {
            if (isWrong)
            {
                throw new OptionException($"Option {values.NameOf(option)}: {reason}.") { Name = values.NameOf(option) };
            }
        }
    }
}
