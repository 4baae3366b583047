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

    /// <summary>Whether a route has another reader rate than all other keys, so that somebody must look.</summary>
    public bool HasOwnRates { get; }

    /// <summary>Of all keys; zero where a route has none.</summary>
    public long LowestReaderRate { get; }

    /// <summary>The routes of a cache, each with the general value where it has none of its own.</summary>
    /// <exception cref="OptionException">A prefix is missing or given twice.</exception>
    public static RouteTable From(OptionValues values)
    {
        List<RoutePolicy> routes = [];
        foreach (OptionValues route in values.Routes)
        {
            RoutePolicy policy = RoutePolicy.From(route);
            if (policy.Prefix.Length == 0 || routes.Any(other => other.Prefix == policy.Prefix))
            {
                string fault = policy.Prefix.Length == 0 ? "is missing" : $"'{policy.Prefix}' is another route's";
                throw new OptionException($"Option {route.NameOf(OptionCatalog.RoutePrefix)}: {fault}.");
            }

            routes.Add(policy);
        }

        return new(RoutePolicy.From(values), [.. routes]);
    }

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
/// <param name="Prefix">First bytes of the keys; empty for all keys without a route of their own.</param>
/// <param name="HoldTime">Zero: as long as the fill needs.</param>
/// <param name="MinReaderRate">Bytes per second; zero: none.</param>
/// <param name="Coalesce">Whether requests share a fill.</param>
internal sealed record RoutePolicy(string Prefix, TimeSpan HoldTime, long MinReaderRate, bool Coalesce)
{
    public static RoutePolicy From(OptionValues values) => new(
        values.Get(OptionCatalog.RoutePrefix),
        values.Get(OptionCatalog.HoldTime),
        values.Get(OptionCatalog.MinReaderRate),
        values.Get(OptionCatalog.Coalesce));
}
