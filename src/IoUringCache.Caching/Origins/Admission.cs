namespace IoUringCache.Caching.Origins;

/// <summary>Answer to a request that wants to go to an address of the origin.</summary>
internal enum Admission
{
    Admitted,

    /// <summary>As many are there as may be.</summary>
    Full,

    /// <summary>The address has failed too often.</summary>
    Open,
}
