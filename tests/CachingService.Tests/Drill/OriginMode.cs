namespace CachingService.Tests.Drill;

/// <summary>What is wrong with the origin of a drill.</summary>
internal enum OriginMode
{
    Healthy,

    /// <summary>Sends nothing more, before or after headers.</summary>
    Stalled,

    /// <summary>Ends the connection in order, in the middle of a body.</summary>
    ShortBodies,

    /// <summary>Sends what is no chunk.</summary>
    BadChunks,

    /// <summary>Ends the connection by RST, before or after headers.</summary>
    Resets,

    /// <summary>Neither listener nor connections.</summary>
    Killed,
}
