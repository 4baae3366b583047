namespace IoUringCache.Caching.Options;

/// <summary>The options that limit how many requests the clients of one network may make of a route; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class RateLimitOptionCatalog
{
    public static readonly Option<RequestRate?> Rate = new(
        "Cache:RateLimit", "", "count[/s|/m|/h]",
        "Requests that the clients of one network may make, such as 100 (a second), 600/m or 50/h; more get 429. Empty or 0: no limit.",
        RequestRate.ParseOptional);

    public static readonly Option<int?> Burst = OptionCatalog.OptionalCount(
        "Cache:RateLimitBurst",
        "Requests that such a network may make at once after a pause, with Cache:RateLimit. Unset: those of one second, at least 1.");

    public static readonly Option<NetworkLengths> Networks = new(
        "Cache:RateLimitNetwork", "32,64", "bits,bits",
        "Leading bits by which the addresses of one network are alike, for IPv4 and IPv6. 0: all of the kind are one.",
        NetworkLengths.Parse);

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All = [Rate, Burst, Networks];
}
