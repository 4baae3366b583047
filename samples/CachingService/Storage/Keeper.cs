namespace CachingService.Storage;

/// <summary>
/// Who keeps an object besides its readers.
/// <code>
///   Fill --complete, storable--> Store --evicted, replaced, expired--> Nobody
///    |                                                                   ^
///    +--failed, too large, lifetime zero---------------------------------+
/// </code>
/// </summary>
internal enum Keeper
{
    Fill,
    Store,
    Nobody,
}
