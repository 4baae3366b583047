namespace IoUringCache.Caching.Disk;

/// <summary>
/// A place in the log that the segments are together. Of two objects the one that was written later lies behind the other one, in whatever
/// process. Immutable.
/// </summary>
/// <param name="Sequence">Of the segment's use, from 1; grows from use to use.</param>
/// <param name="Offset">In the segment, in bytes.</param>
internal readonly record struct DiskPlace(long Sequence, long Offset)
{
    public bool IsBefore(DiskPlace other) => (Sequence, Offset).CompareTo((other.Sequence, other.Offset)) < 0;
}
