namespace IoUringCache.Transport.Internal;

/// <summary>Runs application code on the thread pool, as the transports of others do. Any thread; one for the process.</summary>
internal sealed class ThreadPoolScheduler : ConnectionScheduler
{
    public override void Schedule(ReadOnlySpan<Dispatch> dispatches)
    {
        foreach (Dispatch dispatch in dispatches)
        {
            ThreadPool.UnsafeQueueUserWorkItem(dispatch, preferLocal: false);
        }
    }
}
