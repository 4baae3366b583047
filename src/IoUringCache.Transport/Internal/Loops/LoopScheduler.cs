namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Schedules the application's work where a loop's connections run theirs. Any thread; one per loop.</summary>
internal sealed class LoopScheduler(Dispatcher dispatcher, PostQueue posts) : IConnectionSchedulerFeature
{
    /// <summary>
    /// Other threads post to the loop, also with the thread pool: the loop hands over a turn's items as one batch,
    /// which wakes it once for all that they flush.
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
