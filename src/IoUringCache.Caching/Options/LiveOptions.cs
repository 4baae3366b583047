namespace IoUringCache.Caching.Options;

/// <summary>
/// The options of a cache as they are at the moment: whoever decides something looks anew, and looks once where two values must fit together. Any
/// thread; one per cache.
/// </summary>
internal sealed class LiveOptions(CacheOptions first)
{
    private volatile CacheOptions _now = first;

    public CacheOptions Now => _now;

    /// <summary>Takes other values from now on, but for the name: texts of answers are made of it once.</summary>
    public void Replace(CacheOptions next) => _now = next with { Name = _now.Name };
}
