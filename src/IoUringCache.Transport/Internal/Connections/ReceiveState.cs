namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Where a connection's receiving stands. Which receive is armed, the small multishot or a large one, is the matter of
/// <see cref="ReceiveFlow"/>: the states and their edges are the same. A large one ends with each completion and is Armed again in the same
/// breath; a multishot is cancelled to make way for the first large one, and stays Armed meanwhile. One that is out of buffers stays Armed
/// too while the loop has more to provide. Loop thread only.
/// <code>
///              Start                    read limit reached             final completion
///   Idle ------------------> Armed ------------------------> Stopping -----------------> Paused
///                            ^  |  \                            |                          |
///        buffers came back   |  |   \ out of buffers            | room again meanwhile     | room again
///            +---------------+  |    v                          v                          v
///            |                  |  Starved                    Armed, when the final      Armed
///            +------------------|---/                         completion has come
///            |                  |
///            +---- Waiting -----+ no memory, or the descriptor was made non-blocking; Armed again after a pause
///                               |
///                               | the peer's end, an error, nobody reads any more, close
///                               v
///                             Ended  (the last completion may still be on its way; the operation count knows)
/// </code>
/// </summary>
internal enum ReceiveState
{
    /// <summary>Not started.</summary>
    Idle,

    /// <summary>A receive is in the kernel.</summary>
    Armed,

    /// <summary>Its cancellation is on its way; data that comes meanwhile still counts.</summary>
    Stopping,

    /// <summary>Nothing is in the kernel until the reader has room.</summary>
    Paused,

    /// <summary>Nothing is in the kernel until buffers come back.</summary>
    Starved,

    /// <summary>Nothing is in the kernel until the loop's pause is over: it refused, and trying at once would spin.</summary>
    Waiting,

    /// <summary>Nothing will be received any more.</summary>
    Ended,
}
