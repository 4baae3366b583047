namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// What a <see cref="Receiver"/> does at the moment. Loop thread only.
/// <code>
///              start                    read limit reached             final completion
///   Idle ------------------> Armed ------------------------> Stopping -----------------> Paused
///                            ^  |  \                            |                          |
///        buffers came back   |  |   \ out of buffers            | reader ready meanwhile   | reader ready
///            +---------------+  |    v                          v                          v
///            |                  |  Starved                    Armed, at the final        Armed
///            +------------------|---/                         completion
///            |                  |
///            +---- Waiting -----+ no memory, or a non-blocking descriptor; Armed again after the loop's pause
///
///   any state ----------------> Ended  (the last completion may still come; KernelOperations knows)
///              the peer's end, an error, a completed reader, close
/// </code>
/// <see cref="ReceiveFlow"/> says which receive is armed. The edges are the same for both:
/// <code>
///   messages: a multishot into small buffers      bulk: one receive after the other into large buffers
///   stays Armed from completion to completion     Armed again at each completion
///      |                                             |
///      | bulk begins: cancelled, stays Armed         | bulk ends: nothing to cancel
///      +----------> bulk                             +----------> messages
/// </code>
/// A body may also be received into memory or a splice pipe of the application (<see cref="DirectRead"/>). Then one
/// receive, or one poll before the pipe takes what has come, is armed for each read that offers it, and between two of
/// them the state is Paused:
/// <code>
///   Armed, of a group --- target is offered: cancelled ---> Armed, for the target --- data ---> Paused
///        ^  ^                                                  |    ^                              |
///        |  +--------------------------------------------------+    +----- target is offered ------+
///        |            a pipe takes nothing                                                         |
///        |  all that was expected has come, or an ordinary read                                    |
///        +-----------------------------------------------------------------------------------------+
/// </code>
/// Two more ways lead from Armed to Armed: a cancelled receive that another thread submitted, and a receive out of
/// buffers for which the loop provides another one.
/// </summary>
internal enum ReceiveState
{
    Idle,
    Armed,
    Stopping, // A receive is being cancelled. Data that arrives meanwhile counts.
    Paused,   // Nothing is in the kernel until the reader asks for more.
    Starved,  // Nothing is in the kernel until buffers come back.
    Waiting,  // The kernel refused; armed again after the loop's pause, because a retry at once would spin.
    Ended,
}
