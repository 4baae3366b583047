using IoUringCache.Transport;

namespace IoUringCache.Caching.Storage;

/// <summary>One who waits for a signal, as the signal sees it. The signal's lock guards the place; owned by whoever waits.</summary>
/// <param name="scheduler">Where the awaiting code goes on.</param>
internal abstract class Waiter(IConnectionSchedulerFeature scheduler) : LoopWorkItem
{
    public IConnectionSchedulerFeature Scheduler => scheduler;

    /// <summary>The signal's, under its lock: where it waits, -1 if it does not.</summary>
    internal int Place { get; set; } = -1;

    /// <summary>The signal's, under its lock: whether the token's callback has run, which wakes no one who comes after it.</summary>
    internal bool IsCancelled { get; set; }
}
