namespace IoUringCache.Caching.Telemetry;

/// <summary>How a request for an object ended, as its duration is counted.</summary>
internal enum RequestOutcome
{
    Hit,

    /// <summary>From the store, stale.</summary>
    Stale,

    /// <summary>Followed another request's fill.</summary>
    Join,

    /// <summary>Started a fill and followed it.</summary>
    Miss,

    /// <summary>Went to the origin alone.</summary>
    Pass,

    /// <summary>Its connection, or stream, went through to the origin by another protocol; its duration is the time until that ended.</summary>
    Upgrade,

    /// <summary>An answer of the service's own: a limit, an error, a request that is not served.</summary>
    Own,

    /// <summary>The client left, or was cut.</summary>
    Cut,
}
