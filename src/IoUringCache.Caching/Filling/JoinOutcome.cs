namespace IoUringCache.Caching.Filling;

/// <summary>Answer to a request that wants to join a fill.</summary>
internal enum JoinOutcome
{
    Joined,

    /// <summary>The fill takes nobody any more, or has a response that does not suit the request: look again, or start another.</summary>
    Closed,

    /// <summary>The fill has all the readers that it may have.</summary>
    Full,
}
