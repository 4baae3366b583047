namespace IoUringCache.Caching.Storage;

/// <summary>
/// The last hard and the last soft purge of some objects: of all, or of those with one tag. Set under the lock of its
/// <see cref="PurgeEpochs"/>, so epochs only grow; read by any thread.
/// </summary>
internal sealed class PurgeMarks
{
    private PurgeMark? _hard;
    private PurgeMark? _soft;

    /// <summary>Whether what was asked for in an epoch is gone.</summary>
    public bool AreHardFor(long epoch) => Volatile.Read(ref _hard) is { } hard && epoch < hard.Epoch;

    /// <summary>The purge since which what was asked for in an epoch is stale; <see langword="null"/> if it is not. Of several the last.</summary>
    public PurgeMark? SoftFor(long epoch) => Volatile.Read(ref _soft) is { } soft && epoch < soft.Epoch ? soft : null;

    public void Set(PurgeMark purge, bool isSoft) => Volatile.Write(ref isSoft ? ref _soft : ref _hard, purge);
}
