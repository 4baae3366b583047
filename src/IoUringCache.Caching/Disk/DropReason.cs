namespace IoUringCache.Caching.Disk;

/// <summary>Why an object is not, or no longer, on the disk. What follows from FIFO or from a newer object is none of them.</summary>
internal enum DropReason
{
    /// <summary>A checksum, or anything else, is wrong.</summary>
    Damaged,

    ReadFailed,

    WriteFailed,

    /// <summary>It was of no use any more when it was asked for, or the clock is earlier than when it was written.</summary>
    Stale,

    /// <summary>Too many bytes wait to be written.</summary>
    QueueFull,

    /// <summary>With its header it is larger than a segment.</summary>
    TooLarge,

    /// <summary>The oldest segment is being read, or no segment can be written any more.</summary>
    NoSegment,
}
