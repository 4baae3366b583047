using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// A connection, a listener or a connect on an event loop: takes requests from any thread, and completions of its operations. Owned
/// by its loop from the first request until it releases its slot; the <c>On...</c> methods run on the loop's thread.
/// </summary>
internal abstract class LoopItem
{
    /// <summary>The next item of the list in the <see cref="PostQueue"/>, which alone uses this.</summary>
    internal LoopItem? NextPosted;

    /// <summary>Requests not yet taken, as bits. The thread that changes it from 0 queues the item, once.</summary>
    internal int Requests;

    /// <summary>Whether the item is in its loop's <see cref="FlushQueue"/>, which alone uses this.</summary>
    internal bool IsInFlushQueue;

    /// <summary>Index in the loop's <see cref="OperationTable"/>, -1 while it has none.</summary>
    internal int Slot { get; set; } = -1;

    /// <summary>Distinguishes this tenant of the slot from earlier ones.</summary>
    internal int Generation { get; set; }

    /// <summary>The name of one of this item's operations in the kernel.</summary>
    internal UserData NameOf(OperationKind kind) => new((byte)kind, Generation, Slot);

    /// <summary>Handles the requests made since the last call.</summary>
    internal abstract void OnRequests(int requests);

    /// <summary>Sends flushed bytes, as far as the socket takes them (<c>EventLoop.SendSoon</c>). Any thread.</summary>
    internal virtual void SendFlushed()
    {
    }

    /// <summary>Asks the loop to send flushed bytes, because the pool is late. Any thread.</summary>
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

    /// <summary>Rearms an operation of another thread, or one that the kernel left though there is data.</summary>
    /// <returns>Whether an operation was cancelled.</returns>
    internal virtual bool TryRearm(int threadIndex) => false;

    /// <summary>The loop ends: cancel everything, and release the slot when no operation is in the kernel.</summary>
    internal abstract void OnLoopStopping();

    /// <summary>
    /// The ring broke, or the loop ended before it took the item's request. No completion will come, so the item fails
    /// what waits. May be called after the item has ended. Loop thread, or one other thread once the loop has ended.
    /// </summary>
    internal abstract void OnLoopFailed(Exception reason);
}
