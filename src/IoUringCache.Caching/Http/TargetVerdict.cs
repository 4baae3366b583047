namespace IoUringCache.Caching.Http;

/// <summary>What a request target is worth.</summary>
internal enum TargetVerdict
{
    Valid,

    /// <summary>Answered 400.</summary>
    Malformed,

    /// <summary>Answered 414.</summary>
    TooLong,
}
