namespace IoUringCache.Caching.Storage;

/// <summary>
/// One purge, and the way to all later ones. Whoever holds it keeps their tags alive, and with them their marks, for as long as it may yet
/// have to know of them; when nobody does, they are garbage. Written under the lock of its <see cref="PurgeEpochs"/>; otherwise immutable.
/// </summary>
/// <param name="epoch">Number of the purge; 0 for none yet.</param>
/// <param name="tag">What it purged, if that was a tag.</param>
internal sealed class PurgeEvent(long epoch, Tag? tag)
{
    public long Epoch => epoch;

    public Tag? Tag => tag;

    public PurgeEvent? Next { get; set; }
}
