using System.Numerics;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// The operations that an item has in the kernel, at most one of each kind, and their cancellations. The item may
/// release its slot and its descriptor when <see cref="AreDone"/>. Loop thread only; owned by the item.
/// <code>
///                  Begin                                    final completion
///   not in kernel -------> in kernel -------------------------------------------> not in kernel
///                          |       |                                    ^     ^
///                   Cancel |       | Rearm: cancelled, to be submitted  |     |
///                          v       | again by the loop's present thread |     |
///                  being cancelled +------------------------------------+     |
///                  |   ^   |                                                  |
///                  +---+   +--------------------------------------------------+
///          the kernel refused the cancellation: once more after a pause (RetryCancellations)
/// </code>
/// </summary>
internal sealed class KernelOperations(EventLoop loop, LoopItem item)
{
    private int _count;

    /// <summary>A bit for each kind of operation in the kernel.</summary>
    private int _inKernel;

    /// <summary>
    /// A bit for each kind in the kernel whose end was asked for, and is asked for again if the kernel refused that.
    /// </summary>
    private int _beingCancelled;

    private int _submittedByThread;

    internal LoopItem Item => item;

    /// <summary>Whether no operation and no cancellation is in the kernel.</summary>
    internal bool AreDone => _count == 0;

    /// <summary>Whether an operation is in the kernel.</summary>
    internal bool Contains(OperationKind kind) => (_inKernel & Bit(kind)) != 0;

    /// <summary>
    /// Whether this thread submitted the latest accept or receive, which therefore completes on it, or has begun to rearm
    /// it.
    /// </summary>
    internal bool IsSubmittedBy(int threadIndex) => _submittedByThread == threadIndex;

    /// <summary>Counts an operation that the caller submits.</summary>
    /// <returns>The operation's name.</returns>
    internal UserData Begin(OperationKind kind)
    {
        _count++;
        _inKernel |= Bit(kind);
        return item.NameOf(kind);
    }

    /// <summary>
    /// <see cref="Begin"/> for an accept or a receive, which waits in the kernel until something arrives.
    /// </summary>
    internal UserData BeginRearmable(OperationKind kind)
    {
        _submittedByThread = loop.ThreadIndex;
        return Begin(kind);
    }

    /// <summary>Counts a completion of the item. The item calls this before it handles the completion.</summary>
    internal void OnCompletion(in Completion completion)
    {
        if (!completion.HasMore)
        {
            _count--;
            int others = ~Bit((OperationKind)completion.UserData.Kind);
            _inKernel &= others;
            _beingCancelled &= others;
        }

        if (completion.UserData.Kind == (byte)OperationKind.Cancel && completion.IsError && _beingCancelled != 0)
        {
            loop.Pause(item);
        }
    }

    /// <summary>
    /// Cancels an operation if it is in the kernel and is not being cancelled already. It and its memory stay the
    /// kernel's until its final completion.
    /// </summary>
    internal void Cancel(OperationKind kind)
    {
        if ((_inKernel & ~_beingCancelled & Bit(kind)) != 0)
        {
            _beingCancelled |= Bit(kind);
            SubmitCancellation(kind);
        }
    }

    /// <summary>
    /// Cancels again what the kernel refused to cancel. The item calls this when its pause has ended.
    /// </summary>
    internal void RetryCancellations()
    {
        for (int left = _beingCancelled; left != 0; left &= left - 1)
        {
            SubmitCancellation((OperationKind)BitOperations.TrailingZeroCount(left));
        }
    }

    /// <summary>
    /// Cancels an operation so that its owner submits it again: the final completion looks like one that nothing asked
    /// for. Not tried again if the kernel refuses.
    /// </summary>
    internal void Rearm(OperationKind kind)
    {
        _submittedByThread = loop.ThreadIndex;
        SubmitCancellation(kind);
    }

    /// <summary>
    /// Leaves an operation that the kernel refused for the end of the loop's pause
    /// (<see cref="LoopItem.OnPauseEnded"/>).
    /// </summary>
    /// <param name="error">
    /// The kernel's answer. After EAGAIN the socket is made blocking: the application made it non-blocking.
    /// </param>
    /// <param name="socket">The operation's socket.</param>
    internal void PauseAfter(Errno error, int socket)
    {
        if (error == Errno.EAGAIN)
        {
            SocketDescriptor.SetBlocking(socket);
        }

        loop.Pause(item);
    }

    private static int Bit(OperationKind kind) => 1 << (int)kind;

    private void SubmitCancellation(OperationKind kind)
    {
        loop.Submissions.PrepareCancel(item.NameOf(kind), item.NameOf(OperationKind.Cancel));
        _count++;
    }
}
