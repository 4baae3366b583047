namespace CachingService.Tests.Drill;

/// <summary>How a request of a drill may end.</summary>
internal enum DrillEnd
{
    /// <summary>All bytes that were asked for, and an end to them.</summary>
    Complete,

    /// <summary>The same, of an object that the service says is stale.</summary>
    Stale,

    /// <summary>The answer has no end that could be taken for one.</summary>
    Cut,

    /// <summary>502, 503 or 504, without a body.</summary>
    Refused,

    /// <summary>The client went away itself.</summary>
    Left,
}
