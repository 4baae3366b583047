namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where a connection's sending by its loop stands; other threads send in between, in turns (<see cref="SendTurn"/>). Loop thread
/// only. Closing cancels what is in the kernel, and waits for its completion.
/// <code>
///                memory was flushed                                    completion
///   Idle -----------------------------------> Sending ----------------------------------------> Idle
///    |  ^                                        | no memory
///    |  |  the loop's pause is over              v
///    |  +------------------------------------- Paused  (from Idle as well: sendfile(2) finds no memory at once)
///    |                                           ^
///    |   a range of a file was flushed: what     | no memory
///    |   there was room for has left             |
///    +-------------------------------------> AwaitingRoom ----- room, or the socket failed ----> Idle
/// </code>
/// </summary>
internal enum SendState
{
    /// <summary>Nothing is in the kernel. What is the last of all, and has room, leaves from here without another state.</summary>
    Idle,

    /// <summary>The one send in flight is in the kernel.</summary>
    Sending,

    /// <summary>A poll for room is in the kernel; the bytes of a file that have left are the socket's.</summary>
    AwaitingRoom,

    /// <summary>Nothing is in the kernel until the loop's pause is over: it refused, and trying at once would spin.</summary>
    Paused,
}
