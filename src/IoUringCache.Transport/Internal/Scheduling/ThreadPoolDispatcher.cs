using System.Collections.Concurrent;
using System.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Runs application code on the thread pool: one pool work item per batch instead of one per connection, and one
/// wake-up of the loop at the end of the batch. The loop's thread publishes; pool threads work. Owned by its loop.
/// <para>
/// A handler that blocks does not delay the rest of its batch: a worker requests a second one before it runs anything
/// while the queue is not empty. Nor does it delay earlier flushes of the same worker: the loop checks by itself while
/// <see cref="MayOweWakeUp"/>.
/// </para>
/// </summary>
internal sealed class ThreadPoolDispatcher(EventLoop loop) : Dispatcher(loop), IThreadPoolWorkItem
{
    /// <summary>How long a worker may owe the wake-up of the loop: 100 µs.</summary>
    private static readonly long s_wakeInterval = Stopwatch.Frequency / 10_000;

    /// <summary>How long a worker keeps its pool thread before it queues again: 10 ms.</summary>
    private static readonly long s_quantum = Stopwatch.Frequency / 100;

    private readonly ConcurrentQueue<LoopWorkItem> _queue = new();
    private int _workerRequested;
    private int _unfinished;

    internal override bool RunsApplicationCode => false;

    /// <summary>Some work item that was published has not returned.</summary>
    internal override bool MayOweWakeUp => Volatile.Read(ref _unfinished) != 0;

    internal override void Schedule(LoopWorkItem item)
    {
        if (IsOnLoop)
        {
            Ready.Enqueue(item);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }

    internal override bool RunReady()
    {
        if (Ready.Count != 0)
        {
            Interlocked.Add(ref _unfinished, Ready.Count);
            while (Ready.TryDequeue(out LoopWorkItem? item))
            {
                _queue.Enqueue(item);
            }

            RequestWorker();
        }

        return true;
    }

    void IThreadPoolWorkItem.Execute()
    {
        // A full fence before the queue is read: an item added after the last read makes a new request.
        Interlocked.Exchange(ref _workerRequested, 0);
        Loop.Posts.BeginBatch();
        long started = Stopwatch.GetTimestamp();
        long lastWake = started;
        while (_queue.TryDequeue(out LoopWorkItem? item))
        {
            if (!_queue.IsEmpty)
            {
                RequestWorker();
            }

            item.Execute();
            Interlocked.Decrement(ref _unfinished);

            long now = Stopwatch.GetTimestamp();
            if (now - lastWake > s_wakeInterval)
            {
                Loop.Posts.WakeIfPending();
                lastWake = now;
            }

            if (now - started > s_quantum && !_queue.IsEmpty)
            {
                RequestWorker();
                break;
            }
        }

        Loop.Posts.EndBatch();
    }

    private void RequestWorker()
    {
        // Also the full fence between "queued" and "is a worker on its way?".
        if (Interlocked.Exchange(ref _workerRequested, 1) == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }
}
