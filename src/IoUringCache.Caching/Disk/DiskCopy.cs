using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Disk;

/// <summary>
/// One object on the disk, or on its way there, as the index has it: hashes, which differ from process to process, and a place. Guarded by
/// the tier's lock; only <see cref="IsThere"/> is for any thread.
/// </summary>
internal sealed class DiskCopy(int keyHash, int variantHash) : ILowerCopy
{
    private volatile CopyState _state = CopyState.Queued;

    public int KeyHash => keyHash;

    public int VariantHash => variantHash;

    public CopyState State { get => _state; set => _state = value; }

    /// <summary>A purge leaves what it concerns in the index, until somebody comes across it.</summary>
    public bool IsThere => _state != CopyState.Gone && !Stamp.IsPurged;

    /// <summary>Where it lies; <see langword="null"/> while it is queued.</summary>
    public Segment? Segment { get; set; }

    /// <summary>Of its header in the segment.</summary>
    public long Offset { get; set; }

    public long AreaBytes { get; set; }

    /// <summary>Its own place among the <see cref="SegmentCopies"/>.</summary>
    public int Number { get; set; }

    /// <summary>What tells whether a purge concerns it.</summary>
    public required PurgeStamp Stamp { get; init; }

    /// <inheritdoc/>
    public long ReceivedAt { get; init; } = long.MinValue;

    /// <summary>From then on it is of no use, fresh or stale. Wall clock, UTC.</summary>
    public DateTime KeptUntil { get; set; }

    /// <summary>Of the same hash of the key: the one that was added before.</summary>
    public DiskCopy? Next { get; set; }

    /// <summary>Set for what goes while it is being sealed: ends when the seal is no good any more.</summary>
    public TaskCompletionSource? Unsealed { get; set; }
}

/// <summary>
/// Where the copy of an object on the disk stands.
/// <code>
///             body is written            header is written
///   Queued -------------------> Sealing -------------------> Stored
///     |                            |                            |
///     |      removed, replaced, damaged, or its segment is used again
///     +----------------------------+----------------------------+--------> Gone
/// </code>
/// What goes while it is queued leaves nothing to be found. What goes while it is sealed or stored has its header overwritten: by the writer
/// as soon as the seal is written, or at once.
/// </summary>
internal enum CopyState
{
    Queued,
    Sealing,
    Stored,
    Gone,
}
