namespace IoUringCache.Caching.Options;

/// <summary>What a node does that may not know of all purges.</summary>
internal enum CutOffUse
{
    /// <summary>Serves as before.</summary>
    Serve,

    /// <summary>Has the origin confirm whatever it serves.</summary>
    Validate,
}
