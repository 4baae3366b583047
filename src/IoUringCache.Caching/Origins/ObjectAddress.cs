namespace IoUringCache.Caching.Origins;

/// <summary>Where one object is: in the store, and at its origin. Immutable; any thread.</summary>
/// <param name="Route">Whose origin is asked, and whose rules hold.</param>
/// <param name="Key">Raw bytes under which it is stored; they end with the target.</param>
/// <param name="Target">Raw bytes after the origin's URL and a slash: path and query.</param>
internal readonly record struct ObjectAddress(CacheRoute Route, string Key, string Target)
{
    /// <summary>What may differ from one prefix of the route's targets to another.</summary>
    public Options.RoutePolicy Policy => Route.Policies.Of(Target);
}
