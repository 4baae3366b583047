namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Where a listener's accepting stands. Loop thread only.
/// <code>
///   Idle ---start---> Accepting ---too many undelivered---> Cancelling ---final completion---> Full
///                      ^    ^ |                                                                 |
///                      |    | +--- EMFILE, ENFILE, ENOMEM... ---> Waiting (timer)               |
///                      |    +---------------- timer --------------/                             |
///                      +--------------------------- some were taken ----------------------------+
///   any ---stop---> Stopped, when no operation is in the kernel any more
/// </code>
/// </summary>
internal enum AcceptState
{
    /// <summary>Not started.</summary>
    Idle,

    /// <summary>A multishot accept is in the kernel.</summary>
    Accepting,

    /// <summary>Its cancellation is on its way.</summary>
    Cancelling,

    /// <summary>Nothing is in the kernel until the application takes connections.</summary>
    Full,

    /// <summary>The kernel refused for want of something; a timer is in the kernel.</summary>
    Waiting,

    /// <summary>No connection will be accepted any more.</summary>
    Stopped,
}
