namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// What a <see cref="ConnectAttempt"/> does at the moment. Loop thread only.
/// <code>
///           start                 0 or EISCONN, not given up
///   Idle ----------> Connecting -----------------------------> Connected: the descriptor is the connection's
///    |                |  ^   |
///    |                |  |   | any other error
///    |                |  |   +-------------------------------+
///    |                |  | the loop's pause is over          |
///    |                |  +------------------- Paused         |
///    |                |                        ^  |          |
///    |                +--- EAGAIN, ENOMEM... --+  |          |
///    |                |                           |          |
///    |                | given up: cancelled,      | given up |
///    |                | final completion          |          v
///    |                +---------------------------+------> Failed: the descriptor is closed
///    +--- the loop has ended --------------------------------^
/// </code>
/// "Given up" is an abort of the caller, or the end of the loop. EINTR and an ECANCELED that nothing asked for submit
/// the connect again at once.
/// </summary>
internal enum ConnectState
{
    /// <summary>Not started.</summary>
    Idle,

    /// <summary>A connect is in the kernel.</summary>
    Connecting,

    /// <summary>The kernel refused the connect; tried again after the loop's pause.</summary>
    Paused,

    /// <summary>Nothing is in the kernel, and a connection has the descriptor.</summary>
    Connected,

    /// <summary>Nothing is in the kernel, and the descriptor is closed.</summary>
    Failed,
}
