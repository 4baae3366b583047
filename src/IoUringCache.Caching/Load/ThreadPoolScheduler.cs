using IoUringCache.Transport;

namespace IoUringCache.Caching.Load;

/// <summary>
/// Executes each work item on the thread pool: for connections of other transports, and for code that serves no connection. Any thread; one
/// per process.
/// </summary>
internal sealed class ThreadPoolScheduler : IConnectionSchedulerFeature
{
    private ThreadPoolScheduler()
    {
    }

    public static ThreadPoolScheduler Instance { get; } = new();

    public void Schedule(ReadOnlySpan<LoopWorkItem> items)
    {
        foreach (LoopWorkItem item in items)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }
}
