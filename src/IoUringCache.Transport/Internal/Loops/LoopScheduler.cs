namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Schedules the application's own work where the connections of a loop run theirs. Any thread; one per loop, for all its connections.
/// </summary>
internal sealed class LoopScheduler(Dispatcher dispatcher, PostQueue posts) : IConnectionSchedulerFeature
{
    /// <summary>
    /// From other threads by way of the loop, with the thread pool too: the loop hands a turn's items over as one batch, which wakes it
    /// once for all that they flush.
    /// </summary>
    public void Schedule(ReadOnlySpan<LoopWorkItem> items)
    {
        if (!dispatcher.IsOnLoop)
        {
            posts.Post(items);
            return;
        }

        foreach (LoopWorkItem item in items)
        {
            dispatcher.Ready.Enqueue(item);
        }
    }
}
