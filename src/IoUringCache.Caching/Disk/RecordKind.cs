namespace IoUringCache.Caching.Disk;

/// <summary>What a header in a segment is of. The numbers are on the disk.</summary>
internal enum RecordKind
{
    /// <summary>An object, whose body is whole.</summary>
    Object = 1,

    /// <summary>An object was here, and its bytes are nobody's.</summary>
    Removed = 2,

    /// <summary>Nothing lies behind this.</summary>
    End = 3,
}
