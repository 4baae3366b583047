using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Hosting;

/// <summary>The checked options of an application's cache. Immutable; any thread.</summary>
internal sealed record CacheSettings(CacheOptions Cache, OriginOptions Origin, DiskOptions? Disk)
{
    /// <param name="options">Each valid in itself.</param>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static CacheSettings From(StreamingCacheOptions options) =>
        new(CacheOptions.From(options.Values), OriginOptions.From(options.Values), DiskOptions.From(options.Values));
}
