namespace CachingService.Storage;

/// <summary>
/// Where objects go that leave memory to make room, and what must hear of it when they are not the answer any more. Called under the
/// store's lock: nothing waits, and nobody calls the store back.
/// </summary>
internal interface ILowerTier
{
    /// <summary>Takes what was evicted, if it is worth it and there is room.</summary>
    void Demote(CachedObject evicted);

    /// <summary>Drops whatever is of the newcomer's key and variant, but for a copy of the newcomer itself.</summary>
    void Supersede(CachedObject newcomer);

    /// <summary>Drops whatever is of a key, in all its variants.</summary>
    void Remove(string key);

    /// <summary>Drops whatever a purge concerns, hard or soft, that has been marked before.</summary>
    void RemovePurged();

    /// <summary>
    /// Ends when nothing that was removed or replaced before the call can be found by a later process, however this one ends.
    /// </summary>
    Task SettledAsync();
}
