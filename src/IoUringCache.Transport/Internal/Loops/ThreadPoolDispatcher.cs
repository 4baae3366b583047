using System.Collections.Concurrent;
using System.Diagnostics;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Runs the application code of one loop on the thread pool: one work item per batch instead of one per connection, and one wake-up of
/// the loop when the batch is done.
/// <para>
/// A handler that blocks must not hold up the rest of its batch: a worker asks for a second one before it runs anything while the queue
/// is not empty, so whatever one worker gets stuck in, the next takes the rest (as the pool's own queues do it). Nor may it hold up what
/// the same worker had flushed before: while <see cref="IsBusy"/> the loop sleeps with a time-out and looks into its queue by itself.
/// </para>
/// The loop's thread publishes; pool threads work. Owned by the loop.
/// </summary>
internal sealed class ThreadPoolDispatcher(PostQueue posts) : IThreadPoolWorkItem
{
    /// <summary>After this long a worker pays the wake-ups that it owes, so that long handlers do not delay short ones' responses.</summary>
    private static readonly long s_wakeInterval = Stopwatch.Frequency / 10_000;

    /// <summary>After this long a worker goes back to the end of the pool's queue: other work items wait there.</summary>
    private static readonly long s_quantum = Stopwatch.Frequency / 100;

    private readonly ConcurrentQueue<LoopWorkItem> _queue = new();
    private int _workerRequested;
    private int _unfinished;

    /// <summary>Whether application code that was published has not returned yet.</summary>
    internal bool IsBusy => Volatile.Read(ref _unfinished) != 0;

    /// <summary>Hands over everything that became ready in one turn of the loop. Loop thread only.</summary>
    internal void Publish(Queue<LoopWorkItem> ready)
    {
        Interlocked.Add(ref _unfinished, ready.Count);
        while (ready.TryDequeue(out LoopWorkItem? item))
        {
            _queue.Enqueue(item);
        }

        RequestWorker();
    }

    void IThreadPoolWorkItem.Execute()
    {
        // Cleared with a full fence before the queue is read: an item enqueued after the last look at the queue finds no request
        // outstanding and makes one.
        Interlocked.Exchange(ref _workerRequested, 0);
        posts.BeginBatch();
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
                posts.WakeIfPending();
                lastWake = now;
            }

            if (now - started > s_quantum && !_queue.IsEmpty)
            {
                RequestWorker();
                break;
            }
        }

        posts.EndBatch();
    }

    private void RequestWorker()
    {
        // The exchange is also the full fence between "enqueued" and "is a worker on its way?".
        if (Interlocked.Exchange(ref _workerRequested, 1) == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }
}
