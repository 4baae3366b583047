namespace IoUringCache.Caching.Options;

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
