namespace IoUringCache.Caching.Storage;

/// <summary>Whether more of a body is to come. Leaves <see cref="Growing"/> once, for good.</summary>
internal enum BodyEnd
{
    Growing,

    /// <summary>All bytes are there and the origin's framing was valid.</summary>
    Complete,

    /// <summary>The rest will never come: readers are cut.</summary>
    Broken,
}
