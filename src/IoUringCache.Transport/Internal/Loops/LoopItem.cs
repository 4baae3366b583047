using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Something that lives on an event loop: it takes requests from any thread and completions of the operations that it submitted.
/// Owned by its loop from the first request until it has released its slot; the <c>On...</c> methods run on the loop's thread only.
/// </summary>
internal abstract class LoopItem
{
    /// <summary>The next item of the list in the <see cref="PostQueue"/>, which alone uses this.</summary>
    internal LoopItem? NextPosted;

    /// <summary>Requests made and not yet taken, as bits. The thread that turns it from zero queues the item, so an item is queued once.</summary>
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

    /// <summary>Sends what was flushed, as far as the socket takes it (<c>EventLoop.SendSoon</c>). Any thread.</summary>
    internal virtual void SendFlushed()
    {
    }

    /// <summary>Asks the loop to send what was flushed, because the thread pool is late (<c>EventLoop.SendSoon</c>). Any thread.</summary>
    internal virtual void LeaveFlushedToLoop()
    {
    }

    /// <summary>Handles one completion of an operation of this item.</summary>
    internal abstract void OnCompletion(in Completion completion);

    /// <summary>Receive buffers have come back (<c>EventLoop.AwaitBuffers</c>).</summary>
    internal virtual void OnBuffersAvailable()
    {
    }

    /// <summary>The operation that the kernel refused may be tried again (<c>EventLoop.Pause</c>).</summary>
    internal virtual void OnPauseEnded()
    {
    }

    /// <summary>
    /// Cancels a multishot operation, to arm it anew, if another thread submitted it or the kernel has left it though there is data.
    /// </summary>
    /// <param name="threadIndex">The thread that has the loop.</param>
    /// <returns>Whether an operation was cancelled.</returns>
    internal virtual bool TryRearm(int threadIndex) => false;

    /// <summary>The loop is about to end: cancel everything and release the slot as soon as the kernel has let go.</summary>
    internal abstract void OnLoopStopping();

    /// <summary>
    /// The ring broke, or the loop had ended before it took the item's request: no completion comes any more, so the item fails everything that
    /// waits. May come for an item that has ended. Loop thread, or any one thread once the loop has ended.
    /// </summary>
    internal abstract void OnLoopFailed(Exception reason);
}
