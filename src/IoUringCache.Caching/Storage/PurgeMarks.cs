namespace IoUringCache.Caching.Storage;

/// <summary>
/// The last hard and the last soft purge of some objects: of all, or of those with one tag or prefix. Set under the lock of its
/// <see cref="PurgeEpochs"/>, so epochs only grow; read by any thread.
/// </summary>
internal class PurgeMarks
{
    private PurgeMark? _hard;
    private PurgeMark? _soft;

    /// <summary>Whether what was asked for in an epoch is gone.</summary>
    public bool AreHardFor(long epoch) => Volatile.Read(ref _hard) is { } hard && epoch < hard.Epoch;

    /// <summary>The purge since which what was asked for in an epoch is stale; <see langword="null"/> if it is not. Of several the last.</summary>
    public PurgeMark? SoftFor(long epoch) => Volatile.Read(ref _soft) is { } soft && epoch < soft.Epoch ? soft : null;

    public void Set(PurgeMark purge, bool isSoft) => Volatile.Write(ref isSoft ? ref _soft : ref _hard, purge);
}

/// <summary>Which purge, and when. Immutable.</summary>
/// <param name="Epoch">What has a lower one is concerned.</param>
/// <param name="Time">Time stamp of the service's clock.</param>
internal sealed record PurgeMark(long Epoch, long Time);

/// <summary>
/// One purge, and the way to all later ones. Whoever holds it keeps their tags alive, and with them their marks, for as long as it may yet
/// have to know of them; when nobody does, they are garbage. Written under the lock of its <see cref="PurgeEpochs"/>; otherwise immutable.
/// </summary>
/// <param name="epoch">Number of the purge; 0 for none yet.</param>
/// <param name="tag">What it purged, if that was a tag or a prefix.</param>
internal sealed class PurgeEvent(long epoch, Tag? tag)
{
    public long Epoch => epoch;

    public Tag? Tag => tag;

    public PurgeEvent? Next { get; set; }
}
