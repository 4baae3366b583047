namespace IoUringCache.Caching;

/// <summary>One stored object, as it was when somebody looked. Immutable; any thread.</summary>
/// <param name="Key">Under which it is stored.</param>
/// <param name="StatusCode">Of the response; 200 to 599.</param>
/// <param name="Length">Bytes of the body.</param>
/// <param name="Age">Time since the origin made it (RFC 9111 section 4.2.3).</param>
/// <param name="TimeToLive">Time for which it is fresh yet; negative once it is stale.</param>
/// <example><code>
/// TimeSpan? left = cache.Find("shop.example/a").FirstOrDefault()?.TimeToLive;
/// </code></example>
public sealed record StreamingCacheEntry(string Key, int StatusCode, long Length, TimeSpan Age, TimeSpan TimeToLive);
