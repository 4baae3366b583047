using System.Collections.Concurrent;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Connections of one loop that other threads have flushed while a read waits on them, as HTTP/2 does: a work item of the thread pool sends,
/// behind what the application has queued there, and so once for many flushes. The loop stays asleep; woken for the flushes of one
/// connection, it would take the processor from the application at each of them.
/// <para>
/// An item is in the queue once: from the exchange that sets <see cref="LoopItem.IsFlushed"/> until the one that clears it, after which
/// its bytes are looked for. A flush that finds it set comes before that exchange, and so do its bytes. In the same way an item that
/// finds a worker requested is in the queue before that worker counts what is there.
/// </para>
/// <para>
/// A pool without threads must not keep back what was flushed: the watchdog, where there is one, has a worker that does not come in time
/// replaced by the loop. Any thread, except where a member says otherwise. Owned by the loop.
/// </para>
/// </summary>
internal sealed class FlushQueue : IThreadPoolWorkItem
{
    /// <summary>At so many looks of the watchdog in a row the same worker has not come: 10 ms, more than a busy pool takes.</summary>
    private const int LateAfter = 5;

    private readonly ConcurrentQueue<LoopItem> _queue = new();
    private int _workerRequested;
    private int _requestCount;
    private int _seenRequestCount;
    private int _lateness;

    /// <summary>Whether a worker was asked for that has not come yet.</summary>
    internal bool IsPending => Volatile.Read(ref _workerRequested) != 0;

    /// <summary>Has what was flushed of an item sent soon. Its bytes are queued already.</summary>
    internal void Add(LoopItem item)
    {
        if (Interlocked.Exchange(ref item.IsFlushed, 1) != 0)
        {
            return;
        }

        _queue.Enqueue(item);
        if (Interlocked.Exchange(ref _workerRequested, 1) == 0)
        {
            // One thread at a time gets here: the next one after the worker has begun.
            Volatile.Write(ref _requestCount, _requestCount + 1);
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Takes one item, whose bytes are the caller's to look for from here on.</summary>
    internal bool TryTake(out LoopItem? item)
    {
        if (!_queue.TryDequeue(out item))
        {
            return false;
        }

        Interlocked.Exchange(ref item.IsFlushed, 0);
        return true;
    }

    /// <summary>A look: whether the worker that was asked for is late. The watchdog's thread.</summary>
    internal bool IsLate()
    {
        int requestCount = Volatile.Read(ref _requestCount);
        _lateness = IsPending && requestCount == _seenRequestCount ? _lateness + 1 : 0;
        _seenRequestCount = requestCount;
        return _lateness >= LateAfter;
    }

    void IThreadPoolWorkItem.Execute()
    {
        // What is added from here on asks for the next worker, and is left to it: this one ends.
        Interlocked.Exchange(ref _workerRequested, 0);
        for (int left = _queue.Count; left > 0 && TryTake(out LoopItem? item); left--)
        {
            item!.SendFlushed();
        }
    }
}
