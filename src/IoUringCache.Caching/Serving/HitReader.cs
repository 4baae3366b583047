using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// The place of a client in a stored object. Used by its request; disposed of before the request ends. A class of its own, because the
/// delegate that other readers are given would be memory for each hit.
/// </summary>
internal sealed class HitReader(CachedObject stored, HttpContext client) : ObjectReader(stored)
{
    /// <summary>The request has not ended, because the reader has not left; Kestrel resets the connection and runs no code of ours here.</summary>
    protected override void Cut() => client.Abort();
}
