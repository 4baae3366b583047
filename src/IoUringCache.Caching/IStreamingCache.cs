namespace IoUringCache.Caching;

/// <summary>
/// The cache of an application, for its code: takes objects out of use, and looks at what there is. A singleton that
/// <c>AddStreamingCache</c> adds. Any thread.
/// </summary>
/// <remarks>
/// A key is what <see cref="StreamingCacheEntry.Key"/> shows: for an HTTP origin the host in lower case, path and query
/// (<c>shop.example/a?b=c</c>); for an end point of the application with the scheme before them (<c>https://shop.example/a?b=c</c>); where a route
/// ignores hosts, path and query alone. A purged object's readers finish, and a fetch in flight finishes for its readers and is not stored.
/// </remarks>
/// <example><code>
/// app.MapPost("/articles/{id}", async (string id, IStreamingCache cache) =>
/// {
///     await cache.PurgeTagAsync($"article-{id}");
/// });
/// </code></example>
public interface IStreamingCache
{
    /// <summary>Takes one key with all its variants out of use.</summary>
    /// <param name="key">Not null.</param>
    /// <param name="soft">True: what is stored is stale from now on, and may still stand in for a failure. False: it is gone.</param>
    /// <returns>How many objects in memory it has hit. Ends when no later process finds them on the disk either.</returns>
    ValueTask<int> PurgeAsync(string key, bool soft = false);

    /// <summary>Takes everything out of use that has a tag (<c>Surrogate-Key</c>, or <c>Cache-Groups</c>, RFC 9875).</summary>
    /// <param name="tag">Not null.</param>
    /// <param name="soft">As of <see cref="PurgeAsync"/>.</param>
    /// <returns>As of <see cref="PurgeAsync"/>.</returns>
    ValueTask<int> PurgeTagAsync(string tag, bool soft = false);

    /// <summary>Takes everything out of use whose key has a prefix: a directory, or a whole host.</summary>
    /// <param name="prefix">
    /// The first bytes of keys, with a slash at the end, at most 8 slashes (those of a scheme do not count) and 256 characters:
    /// <c>shop.example/news/</c>.
    /// </param>
    /// <param name="soft">As of <see cref="PurgeAsync"/>.</param>
    /// <returns>As of <see cref="PurgeAsync"/>.</returns>
    /// <exception cref="ArgumentException">No key has this prefix, by its form.</exception>
    /// <example><code>
    /// await cache.PurgePrefixAsync("https://shop.example/articles/", soft: true);
    /// </code></example>
    ValueTask<int> PurgePrefixAsync(string prefix, bool soft = false);

    /// <summary>Takes everything out of use.</summary>
    /// <param name="soft">As of <see cref="PurgeAsync"/>.</param>
    /// <returns>As of <see cref="PurgeAsync"/>.</returns>
    ValueTask<int> PurgeAllAsync(bool soft = false);

    /// <summary>Looks at what is stored under a key in memory.</summary>
    /// <param name="key">Not null.</param>
    /// <returns>One entry for each variant; none if nothing is stored.</returns>
    IReadOnlyList<StreamingCacheEntry> Find(string key);
}
