namespace IoUringCache.Caching.Filling;

/// <summary>How a request came to its fill.</summary>
internal enum ReaderRole
{
    /// <summary>Its miss started the fill.</summary>
    Leader,

    /// <summary>It waits or waited for the headers with the leader.</summary>
    Collapsed,

    /// <summary>It came after the headers.</summary>
    InFlight,
}
