using System.Collections.Concurrent;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Connections of one loop that other threads flushed while a read waits, as HTTP/2 does. One work item of the thread
/// pool sends for many flushes, and the loop stays asleep. Any thread; owned by the dispatcher.
/// <para>
/// An item is queued once: from the exchange that sets <see cref="LoopItem.IsInFlushQueue"/> until the one that clears it,
/// after which the worker reads its bytes. A flush that finds it set comes before that exchange, and so do its bytes.
/// Likewise an item that finds a worker requested is in the queue before that worker counts the items.
/// </para>
/// </summary>
internal sealed class FlushQueue : IThreadPoolWorkItem
{
    /// <summary>A worker is late after this many looks of the watchdog: 10 ms, more than a busy pool takes.</summary>
    private const int LateAfter = 5;

    private readonly ConcurrentQueue<LoopItem> _queue = new();

    /// <summary>Twice the number of workers that have begun; plus one while a worker is requested.</summary>
    private long _workers;

    private long _seenWorkers;
    private int _lateness;

    /// <summary>Whether a worker was requested that has not begun.</summary>
    internal bool IsPending => IsRequested(Volatile.Read(ref _workers));

    /// <summary>Queues an item, whose bytes are flushed already.</summary>
    internal void Add(LoopItem item)
    {
        if (Interlocked.Exchange(ref item.IsInFlushQueue, true))
        {
            return;
        }

        _queue.Enqueue(item);
        if (!IsRequested(Interlocked.Or(ref _workers, 1)))
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Leaves the items to the loop if the pool has no free thread for the worker. Watchdog.</summary>
    internal void LeaveLateToLoop()
    {
        long workers = Volatile.Read(ref _workers);
        _lateness = IsRequested(workers) && workers == _seenWorkers ? _lateness + 1 : 0;
        _seenWorkers = workers;
        while (_lateness >= LateAfter && TryTake(out LoopItem? item))
        {
            item!.LeaveFlushedToLoop();
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        // Items added from here on request the next worker, and are left to it.
        Interlocked.Increment(ref _workers);
        for (int left = _queue.Count; left > 0 && TryTake(out LoopItem? item); left--)
        {
            item!.SendFlushed();
        }
    }

    private static bool IsRequested(long workers) => (workers & 1) != 0;

    private bool TryTake(out LoopItem? item)
    {
        if (!_queue.TryDequeue(out item))
        {
            return false;
        }

        Interlocked.Exchange(ref item.IsInFlushQueue, false);
        return true;
    }
}
