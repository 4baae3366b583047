namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// What an <see cref="Acceptor"/> does at the moment. Loop thread only. Capacity is used up while too many connections
/// are not taken, and while all loops are over the limit of busy connections. Near the limit of descriptors a multishot
/// is cancelled, and single accepts follow.
/// <code>
///                            no capacity                final completion
///   Idle ---start---> Accepting -------> Cancelling ----------------------+
///                      |    ^                                             v
///                      |    +------------------ yes ------------------ capacity?
///                      |    |                                          |      ^
///                      |    |                                       no |      | timer
///                      |    |                                          v      |
///                      |    +------------- Reconsider --------------- Full    |
///                      |                                                      |
///                      +--- EMFILE, ENFILE, ENOMEM... ----------> Waiting ----+
///                      +--- the reserve of descriptors begins --> Waiting     |
///                      +--- ended by the kernel for another reason: capacity?
///   any ---stop---> Stopped, when no operation is in the kernel any more
/// </code>
/// </summary>
internal enum AcceptState
{
    /// <summary>Not started.</summary>
    Idle,

    /// <summary>An accept is in the kernel.</summary>
    Accepting,

    /// <summary>The accept is being cancelled.</summary>
    Cancelling,

    /// <summary>Nothing is in the kernel until Kestrel takes connections or a loop has less to do.</summary>
    Full,

    /// <summary>A timer is in the kernel: it refused the accept, or only the reserve of descriptors is left.</summary>
    Waiting,

    /// <summary>Nothing is accepted any more.</summary>
    Stopped,
}
