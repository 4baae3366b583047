namespace IoUringCache.Caching.Disk;

/// <summary>What a block of the journal says. The numbers are on the disk.</summary>
internal enum JournalKind
{
    /// <summary>The first block: whose purges count.</summary>
    Start = 1,

    /// <summary>Everything was purged.</summary>
    All = 2,

    /// <summary>A tag was purged.</summary>
    Tag = 3,
}
