using System.Runtime.ExceptionServices;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Decides where and when a loop's application code runs, by <see cref="ApplicationScheduling"/>. Loop thread only,
/// except where a member says otherwise; owned by its loop.
/// </summary>
/// <param name="loop">The loop whose application code it runs.</param>
internal abstract class Dispatcher(EventLoop loop)
{
    /// <summary>Whether application code runs on the loop's thread. Any thread.</summary>
    internal abstract bool RunsApplicationCode { get; }

    /// <summary>Whether other threads than the first may get the loop. Any thread.</summary>
    internal virtual bool MovesLoop => false;

    /// <summary>
    /// Whether the calling thread may touch the loop's state: it has the loop, and cannot lose it to another thread as it
    /// can inside of application code with <c>Adaptive</c>. Any thread.
    /// </summary>
    internal virtual bool IsOnLoop => Loop.IsOwner;

    /// <summary>Whether this thread must leave the loop. Checked before each turn and before a sleep.</summary>
    internal virtual bool IsHandOverDue => false;

    /// <summary>Whether application code that runs may block before it wakes the loop: sleeps must be short.</summary>
    internal virtual bool MayOweWakeUp => false;

    /// <summary>Work items to run in this turn.</summary>
    internal Queue<LoopWorkItem> Ready { get; } = new();

    /// <summary>Flushes that the thread pool sends.</summary>
    protected FlushQueue Flushes { get; } = new();

    protected EventLoop Loop { get; } = loop;

    /// <summary>Runs the loop on its first thread, from the loop's start to its end. The first thread.</summary>
    internal virtual void Serve(LoopThread home) => Loop.Run();

    /// <summary>Schedules a work item of the transport; never runs it before it returns. Any thread.</summary>
    internal virtual void Schedule(LoopWorkItem item)
    {
        if (IsOnLoop)
        {
            Ready.Enqueue(item);
        }
        else
        {
            Loop.Posts.Post(item);
        }
    }

    /// <summary>Has the thread pool send what was flushed of an item. Any thread but the loop's.</summary>
    internal virtual void SendSoon(LoopItem item) => Flushes.Add(item);

    /// <summary>Runs what is ready, or hands it over. What becomes ready meanwhile waits for the next turn.</summary>
    /// <returns>False if this thread has lost the loop, and must not touch it any more.</returns>
    internal abstract bool RunReady();

    /// <summary>The loop has ended: what is still ready runs on the thread pool.</summary>
    internal virtual void End()
    {
        while (Ready.TryDequeue(out LoopWorkItem? item))
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }

    /// <summary>Runs a work item on the loop's thread. If it throws, the process ends, as on the thread pool.</summary>
    protected static void Execute(LoopWorkItem item)
    {
        try
        {
            item.Execute();
        }
        catch (Exception exception)
        {
            ThreadPool.UnsafeQueueUserWorkItem(ExceptionDispatchInfo.Throw, exception, preferLocal: false);
        }
    }
}
