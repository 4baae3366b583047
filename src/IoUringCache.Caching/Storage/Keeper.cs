namespace IoUringCache.Caching.Storage;

/// <summary>
/// Who keeps an object besides its readers.
/// <code>
///   Writer --complete, storable--> Store --evicted, replaced, expired, purged--> Nobody
///     |                                                                            ^
///     +--failed, too large, lifetime zero----------------------------------+
/// </code>
/// </summary>
internal enum Keeper
{
    /// <summary>The fill that receives it.</summary>
    Writer,
    Store,
    Nobody,
}
