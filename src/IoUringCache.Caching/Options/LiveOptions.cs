namespace IoUringCache.Caching.Options;

/// <summary>
/// The options of a cache as they are at the moment: whoever decides something looks anew, and looks once where two values must fit together. Any
/// thread; one per cache.
/// </summary>
internal sealed class LiveOptions(CacheOptions first)
{
    /// <summary>What only counts at the start, because something was made of that size.</summary>
    private static readonly (Option Option, Func<CacheOptions, object?> Value)[] s_fixed =
    [
        (OptionCatalog.Name, static options => options.Name),
        (OptionCatalog.MaxVariants, static options => options.MaxVariants),
        (OptionCatalog.MaxMarkers, static options => options.MaxMarkers),
        (OptionCatalog.FileValidity, static options => options.FileValidity),
        (OptionCatalog.FillAttempts, static options => options.FillAttempts),
        (OptionCatalog.FillRetryDelay, static options => options.FillRetryDelay),
        (OptionCatalog.OverloadDelay, static options => options.OverloadDelay),
    ];

    private volatile CacheOptions _now = first;

    public CacheOptions Now => _now;

    /// <summary>Takes other values from now on, but for those that are fixed.</summary>
    /// <returns>The names of options that have another value now and are fixed.</returns>
    public string[] Replace(CacheOptions next)
    {
        CacheOptions before = _now;
        _now = next with
        {
            Name = before.Name,
            MaxVariants = before.MaxVariants,
            MaxMarkers = before.MaxMarkers,
            FileValidity = before.FileValidity,
            FillAttempts = before.FillAttempts,
            FillRetryDelay = before.FillRetryDelay,
            OverloadDelay = before.OverloadDelay,
        };
        return [.. s_fixed.Where(item => !Equals(item.Value(before), item.Value(next))).Select(static item => item.Option.Name)];
    }
}
