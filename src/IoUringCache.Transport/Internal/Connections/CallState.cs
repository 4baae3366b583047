namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where a call of the application stands that may have to wait.
/// <code>
///               it has to wait                      what it waits for, an end, a cancellation
///   Idle ----------------------------> Waiting ---------------------------------------------> Scheduled
///    ^                                    | the same, and it must not go on where it was          ^ |
///    |                                    | made, but it is not awaited yet                       | |
///    |                                    +------------------> Ended -----------------------------+ |
///    |                                                                 it is awaited                |
///    +------------------------- the continuation gets its result ------------------------------------+
/// </code>
/// </summary>
internal enum CallState
{
    Idle,

    Waiting,

    /// <summary>The wait has ended, but the call is not yet awaited.</summary>
    Ended,

    /// <summary>The continuation is queued where application code runs.</summary>
    Scheduled,
}
