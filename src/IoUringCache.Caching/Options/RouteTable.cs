using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Options;

/// <summary>Finds the route of a key: of the prefixes that it begins with, the longest. Immutable; any thread.</summary>
internal sealed class RouteTable
{
    private readonly RoutePolicy[] _longestFirst;

    private RouteTable(RoutePolicy general, RoutePolicy[] routes)
    {
        General = general;
        _longestFirst = [.. routes.OrderByDescending(route => route.Prefix.Length)];
        HasOwnRates = routes.Any(route => route.MinReaderRate != general.MinReaderRate);
        LowestReaderRate = routes.Append(general).Min(route => route.MinReaderRate);
    }

    /// <summary>Of all keys without a route.</summary>
    public RoutePolicy General { get; }

    /// <summary>Of all keys, with and without a route.</summary>
    public IEnumerable<RoutePolicy> All => _longestFirst.Append(General);

    /// <summary>Whether a route has another reader rate than all other keys, so that somebody must look.</summary>
    public bool HasOwnRates { get; }

    /// <summary>Of all keys; zero where a route has none.</summary>
    public long LowestReaderRate { get; }

    /// <summary>The routes of a cache, each with the general value where it has none of its own.</summary>
    /// <exception cref="OptionException">A prefix is missing or given twice.</exception>
    public static RouteTable From(OptionValues values)
    {
        HashSet<(string Hosts, string Prefix)> known = [];
        foreach (OptionValues route in values.Routes)
        {
            (string Hosts, string Prefix) place = (string.Join(',', route.Get(RouteOptionCatalog.Hosts)), route.Get(RouteOptionCatalog.Prefix));
            if (place == ("", "") || !known.Add(place))
            {
                string fault = place == ("", "") ? "is missing" : $"'{place.Prefix}' is another route's";
                throw new OptionException($"Option {route.NameOf(RouteOptionCatalog.Prefix)}: {fault}.");
            }
        }

        return new(RoutePolicy.From(values), [.. values.Routes.Select(RoutePolicy.From)]);
    }

    /// <summary>One policy for all keys.</summary>
    public static RouteTable Of(RoutePolicy policy) => new(policy, []);

    /// <summary>The same prefixes, each with a policy made of its own.</summary>
    public RouteTable With(Func<RoutePolicy, RoutePolicy> change) => new(change(General), [.. _longestFirst.Select(change)]);

    public RoutePolicy Of(string key)
    {
        foreach (RoutePolicy route in _longestFirst)
        {
            if (key.StartsWith(route.Prefix, StringComparison.Ordinal))
            {
                return route;
            }
        }

        return General;
    }
}

/// <summary>What may differ from route to route; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Prefix">First bytes of the keys, by which figures and logs name the route; empty for all keys without a route of their own.</param>
/// <param name="HoldTime">Zero: as long as the fill needs.</param>
/// <param name="MinReaderRate">Bytes per second; zero: none.</param>
/// <param name="PurgeFrom">Clients that may purge by a method; empty: the method is the origin's.</param>
/// <param name="SliceBytes">What larger bodies are fetched and stored by; zero: none are.</param>
internal sealed record RoutePolicy(
    string Prefix,
    FreshnessPolicy Freshness,
    CookieUse Cookies,
    TimeSpan HoldTime,
    long MinReaderRate,
    bool Coalesce,
    bool PassTrace,
    PeerList PurgeFrom,
    CompressionRule Compression,
    long SliceBytes)
{
    /// <summary>Long enough to take the load off an origin, and short enough for one that is back early.</summary>
    private static readonly TimeSpan s_longestRetryAfter = TimeSpan.FromMinutes(1);

    public static RoutePolicy From(OptionValues values) => new(
        values.Get(RouteOptionCatalog.Prefix),
        FreshnessOf(values),
        values.Get(OptionCatalog.Cookies),
        values.Get(OptionCatalog.HoldTime),
        values.Get(OptionCatalog.MinReaderRate),
        values.Get(OptionCatalog.Coalesce),
        values.Get(OptionCatalog.PassTrace),
        values.Get(OptionCatalog.PurgeFrom),
        CompressionOptionCatalog.RuleOf(values),
        values.Get(OptionCatalog.SliceBytes));

    private static FreshnessPolicy FreshnessOf(OptionValues values) => new()
    {
        ForcedTtl = values.Get(OptionCatalog.ForcedTtl),
        DefaultTtl = values.Get(OptionCatalog.DefaultTtl),
        NegativeStatuses = values.Get(OptionCatalog.NegativeStatuses),
        NegativeTtl = values.Get(OptionCatalog.NegativeTtl),
        ErrorTtl = values.Get(OptionCatalog.ErrorTtl),
        MaxRetryAfter = RouteOrigin.Of(values).Urls.Count > 1 ? TimeSpan.Zero : s_longestRetryAfter,
        MaxHeuristicTtl = values.Get(OptionCatalog.MaxHeuristicTtl),
        KeepStale = values.Get(OptionCatalog.KeepStale),
        StaleWhileRevalidate = values.Get(OptionCatalog.StaleWhileRevalidate),
        StaleIfError = values.Get(OptionCatalog.StaleIfError),
    };
}
