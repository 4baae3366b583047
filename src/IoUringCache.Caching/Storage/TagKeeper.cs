namespace IoUringCache.Caching.Storage;

/// <summary>Which collection of objects holds tags; each counts its own objects under its own lock.</summary>
internal enum TagKeeper
{
    /// <summary>The objects in memory.</summary>
    Store,

    /// <summary>The index of the disk tier.</summary>
    Disk,
}
