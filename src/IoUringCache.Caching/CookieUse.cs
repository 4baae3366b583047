namespace IoUringCache.Caching;

/// <summary>What requests with <c>Cookie</c> have of the cache.</summary>
/// <example><code>
/// builder.Services.Configure&lt;StreamingCacheOptions&gt;(options => options.Cookies = CookieUse.Share);
/// </code></example>
public enum CookieUse
{
    /// <summary>Nothing: they go to the origin alone. The default.</summary>
    Bypass,

    /// <summary>What is stored. What they bring themselves is stored where the origin says that it is <c>public</c>.</summary>
    Share,
}
