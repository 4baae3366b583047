using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Something that lives on an event loop: it takes requests from any thread and completions of the operations that it submitted.
/// Owned by its loop from the first request until it has released its slot; the <c>On...</c> methods run on the loop's thread only.
/// </summary>
internal abstract class LoopItem
{
    /// <summary>Next item of the list that a <see cref="PostQueue"/> keeps; its alone.</summary>
    internal LoopItem? NextPosted;

    /// <summary>
    /// Requests made and not yet taken, as bits. The thread that turns it from zero enqueues the item, so that an item is in at most
    /// one queue, once.
    /// </summary>
    internal int Requests;

    /// <summary>Whether the item is in its loop's <see cref="FlushQueue"/>, which alone uses this.</summary>
    internal bool IsQueued;

    /// <summary>Index in the loop's <see cref="OperationTable"/>, -1 while it has none.</summary>
    internal int Slot { get; set; } = -1;

    /// <summary>Distinguishes this tenant of the slot from earlier ones.</summary>
    internal int Generation { get; set; }

    /// <summary>The name of one of this item's operations in the kernel.</summary>
    internal UserData NameOf(OperationKind kind) => new((byte)kind, Generation, Slot);

    /// <summary>Handles the requests made since the last call.</summary>
    internal abstract void OnRequests(int requests);

    /// <summary>Sends what was flushed, as far as there is room; the answer to <c>EventLoop.SendSoon</c>. Any thread.</summary>
    internal virtual void SendFlushed()
    {
    }

    /// <summary>The other answer, where the thread pool does not get to it: asks the loop to send. Any thread.</summary>
    internal virtual void LeaveFlushedToLoop()
    {
    }

    /// <summary>Handles one completion of an operation of this item.</summary>
    internal abstract void OnCompletion(in Completion completion);

    /// <summary>There are receive buffers again; the answer to <c>EventLoop.AwaitBuffers</c>.</summary>
    internal virtual void OnBuffersAvailable()
    {
    }

    /// <summary>What the kernel refused may be tried again; the answer to <c>EventLoop.Pause</c>.</summary>
    internal virtual void OnPauseEnded()
    {
    }

    /// <summary>
    /// Cancels an operation that goes on until it is cancelled, to submit it anew, and says whether there was one for which that is needed:
    /// another thread has submitted it, and it completes through that one; or the kernel has left it, though there is something to do.
    /// </summary>
    /// <param name="threadIndex">The thread that has the loop now.</param>
    internal virtual bool TryRearm(int threadIndex) => false;

    /// <summary>The loop is about to end: cancel everything and release the slot as soon as the kernel has let go.</summary>
    internal abstract void OnLoopStopping();

    /// <summary>
    /// The ring is broken, or its loop had ended before it took the item's request: no completion will come any more. Let everybody who
    /// waits know. May come for an item that has ended already; on the loop's thread, and on any one thread once there is none.
    /// </summary>
    internal abstract void OnLoopFailed(Exception reason);
}
