namespace IoUringCache.Caching.Options;

/// <summary>The options of connections that go through to the origin by another protocol; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class UpgradeOptionCatalog
{
    public static readonly Option<string[]> Protocols = new(
        "Cache:Upgrades", "websocket", "protocol[,protocol...]",
        "Protocols for which a client may have its connection go through to the origin, if that takes it up (Upgrade). Empty: none.",
        ValueParser.Upgrades);

    public static readonly Option<int> Limit = OptionCatalog.Count(
        "Cache:MaxUpgrades", "10000", 1, 1_000_000,
        "Concurrent connections of other protocols (Cache:Upgrades), with those that ask for one. Above it, requests that ask get 503.");

    public static readonly Option<TimeSpan> IdleTimeout = OptionCatalog.Duration(
        "Cache:UpgradeIdleTimeout", "10m", TimeSpan.FromSeconds(1), TimeSpan.FromDays(7),
        "Time without a byte in either direction after which such a connection is cut.");
}
