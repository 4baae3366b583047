using IoUringCache.Transport;

namespace IoUringCache.Caching.Load;

/// <summary>
/// Runs those who have much to catch up with a few at a time, in their order: in each turn of an event loop as many as
/// <see cref="AtOnce"/>, so that what is live waits for these and not for all of them. Any thread; one for each scheduler.
/// <code>
///            Schedule                    Execute: nothing is left
///   idle ---------------> scheduled ------------------------------> idle
///                          ^     | Execute: hands out AtOnce, and itself behind them
///                          +-----+
/// </code>
/// </summary>
internal sealed class CatchUpQueue(IConnectionSchedulerFeature scheduler) : LoopWorkItem, IConnectionSchedulerFeature
{
    /// <summary>Each sends 64 KiB in its turn, which takes some 20 us.</summary>
    private const int AtOnce = 8;

    private readonly Lock _lock = new();
    private readonly Queue<LoopWorkItem> _waiting = new();
    private bool _isScheduled;

    public void Schedule(ReadOnlySpan<LoopWorkItem> items)
    {
        lock (_lock)
        {
            foreach (LoopWorkItem item in items)
            {
                _waiting.Enqueue(item);
            }

            if (_isScheduled)
            {
                return;
            }

            _isScheduled = true;
        }

        scheduler.Schedule([this]);
    }

    /// <summary>Where two overlap, on the thread pool, each has items of its own.</summary>
    public override void Execute()
    {
        LoopWorkItem[] next;
        bool isMoreWaiting;
        lock (_lock)
        {
            next = new LoopWorkItem[Math.Min(AtOnce, _waiting.Count)];
            for (int index = 0; index < next.Length; index++)
            {
                next[index] = _waiting.Dequeue();
            }

            isMoreWaiting = _isScheduled = _waiting.Count != 0;
        }

        scheduler.Schedule(next);
        if (isMoreWaiting)
        {
            scheduler.Schedule([this]);
        }
    }
}
