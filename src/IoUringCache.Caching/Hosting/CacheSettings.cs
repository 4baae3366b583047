using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Hosting;

/// <summary>The checked options of an application's cache. Immutable; any thread.</summary>
internal sealed record CacheSettings(CacheOptions Cache, OriginOptions Origin, DiskOptions? Disk)
{
    /// <summary>The section under which the options are known.</summary>
    private const string Section = "Cache";

    /// <param name="section">What <c>AddStreamingCache</c> was given: the options by their names without a section.</param>
    /// <exception cref="OptionException">A value is not valid, or an option is not known.</exception>
    public static CacheSettings Read(IConfiguration section)
    {
        IConfiguration options = new ConfigurationBuilder()
            .AddInMemoryCollection(section.AsEnumerable(makePathsRelative: true)
                .Where(static option => option.Value is not null)
                .Select(static option => KeyValuePair.Create($"{Section}:{option.Key}", option.Value)))
            .Build();
        return OptionNames.FindUnknown(options.GetSection(Section)) is { } unknown
            ? throw new OptionException($"Option {unknown} is not known.")
            : new(CacheOptions.Read(options), OriginOptions.Read(options), DiskOptions.Read(options));
    }
}
