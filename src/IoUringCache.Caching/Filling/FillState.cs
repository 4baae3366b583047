namespace IoUringCache.Caching.Filling;

/// <summary>
/// Where a fill stands. A body that breaks and is resumed is still Streaming or TooLarge.
/// <code>
///     Queued ------ no place in time, no request that waits, the service stops ------> Failed (or Settled: the old body will do)
///       |
///       | its turn has come (see FillQueue), mostly at once
///       v        headers, may be shared                last byte, framing valid
///   Requested ---------------------------> Streaming ---------------------------> Complete
///    |  |  |                                |     |
///    |  |  | headers, for one client alone  |     | reset, short body, bad chunk, idle time-out, abandoned
///    |  |  +--------> Uncacheable           |     +--------> Failed
///    |  |                                   |
///    |  | 304, or failed, old body will do  |
///    |  +--------> Settled                  |
///    |  |                                   |
///    |  | no usable headers, twice          | larger than the limit, or than the room left in flight
///    |  +--------> Failed                   v
///    |                                  TooLarge --last byte--> Complete (not stored)
///    +--known to be larger-------------->  |
///                                          +---reset, ..., abandoned--> Failed
/// </code>
/// </summary>
internal enum FillState
{
    /// <summary>It waits for a place among the fills under way. Requests join.</summary>
    Queued,

    /// <summary>No headers yet. Requests join.</summary>
    Requested,

    /// <summary>The body is coming. Requests join and read from byte 0, as long as the response is fresh.</summary>
    Streaming,

    /// <summary>Streaming to those who are there, through a window. Nobody joins.</summary>
    TooLarge,

    /// <summary>The body is whole.</summary>
    Complete,

    /// <summary>There is no new body: all who waited have the stored one. Nobody joins.</summary>
    Settled,

    /// <summary>The response is the leader's alone; all others go to the origin themselves, or wait for the next fill.</summary>
    Uncacheable,

    /// <summary>Readers without headers get an error, readers with headers are cut.</summary>
    Failed,
}
