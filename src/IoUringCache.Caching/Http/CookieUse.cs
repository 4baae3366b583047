namespace IoUringCache.Caching.Http;

/// <summary>What requests with <c>Cookie</c> have of the cache.</summary>
internal enum CookieUse
{
    /// <summary>Nothing: they go to the origin alone.</summary>
    Bypass,

    /// <summary>What is stored. What they bring themselves is stored where the origin says that it is <c>public</c>.</summary>
    Share,
}
