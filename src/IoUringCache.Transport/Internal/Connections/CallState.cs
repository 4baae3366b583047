namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where a call of the application stands that may have to wait.
/// <code>
///               it has to wait                      what it waits for, an end, a cancellation
///   Idle ----------------------------> Waiting ---------------------------------------------> Scheduled
///    ^                                    | the same, and it must not go on where it was          ^ |
///    |                                    | made, but nobody awaits it yet                        | |
///    |                                    +------------------> Ended -----------------------------+ |
///    |                                                                 it is awaited                |
///    +------------------------- the continuation gets its result ------------------------------------+
/// </code>
/// </summary>
internal enum CallState
{
    /// <summary>No call waits.</summary>
    Idle,

    /// <summary>A call waits for something to happen.</summary>
    Waiting,

    /// <summary>Something happened, but there is no continuation to be queued yet.</summary>
    Ended,

    /// <summary>Something happened; the call's continuation is queued where application code runs.</summary>
    Scheduled,
}
