namespace IoUringCache.Caching.Storage;

/// <summary>
/// Where objects go that leave memory to make room, and what must hear of it when they are not the answer any more. Called under the
/// store's lock: nothing waits, and nobody calls the store back.
/// </summary>
internal interface ILowerTier
{
    /// <summary>Number of objects that are there. Any thread.</summary>
    int Count { get; }

    /// <summary>Number of different tags and prefixes of what is there. Any thread.</summary>
    int TagCount { get; }

    /// <summary>Takes what was evicted, if it is worth it and there is room.</summary>
    void Demote(CachedObject evicted);

    /// <summary>Drops whatever is of the newcomer's key and variant, but for a copy of the newcomer itself.</summary>
    void Supersede(CachedObject newcomer);

    /// <summary>Drops whatever is of a key, in all its variants. Returns how much of that no earlier purge had hit.</summary>
    int Remove(string key);

    /// <summary>
    /// Has later processes know of a purge, hard or soft. Its mark was set before, so in this process nothing that it concerns is found.
    /// </summary>
    /// <param name="tag">What it was of; <see langword="null"/> for everything.</param>
    void RecordPurge(Tag? tag);

    /// <summary>
    /// Ends when nothing that was removed, replaced or purged before the call can be found by a later process, however this one ends.
    /// </summary>
    Task SettledAsync();
}
