using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>How often the clients of one network may ask of a route; meanings in <see cref="RateLimitOptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Burst">Requests at once, 1 or more.</param>
internal sealed record RateLimitOptions(RequestRate Rate, int Burst, NetworkLengths Networks)
{
    /// <returns><see langword="null"/> if there is no limit.</returns>
    public static RateLimitOptions? From(OptionValues values) => values.Get(RateLimitOptionCatalog.Rate) is { } rate
        ? new(rate, values.Get(RateLimitOptionCatalog.Burst) ?? rate.CountOfOneSecond, values.Get(RateLimitOptionCatalog.Networks))
        : null;
}
