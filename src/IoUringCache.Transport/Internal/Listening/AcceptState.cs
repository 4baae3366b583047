namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Where a listener's accepting stands. Loop thread only. There is no room while too many connections are not taken, and while all loops
/// are over the limit of busy connections. Near the limit of descriptors an accept is for one connection, and its cancellation
/// is what goes over from a multishot to that.
/// <code>
///                              no room                  final completion
///   Idle ---start---> Accepting -------> Cancelling ----------------------+
///                      |    ^                                             v
///                      |    +------------- there is room ---------- is there room?
///                      |    |                                          |      ^
///                      |    |                                 there is |      | timer
///                      |    |                                     none v      |
///                      |    +------------- room again --------------- Full    |
///                      |                                                      |
///                      +--- EMFILE, ENFILE, ENOMEM... ----------> Waiting ----+
///                      +--- the reserve of descriptors begins --> Waiting     |
///                      +--- ended by the kernel for another reason: is there room?
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

    /// <summary>Nothing is in the kernel until the application takes connections, or a loop has less to do.</summary>
    Full,

    /// <summary>The kernel refused for want of something, or only the reserve of descriptors is left; a timer is in the kernel.</summary>
    Waiting,

    /// <summary>No connection will be accepted any more.</summary>
    Stopped,
}
