using IoUringCache.Transport;

namespace CachingService.Tests.Storage;

/// <summary>Keeps what is scheduled until the test runs it, and counts how often it was asked. One thread.</summary>
internal sealed class ManualScheduler : IConnectionSchedulerFeature
{
    private readonly Queue<LoopWorkItem> _scheduled = new();

    /// <summary>Calls of <see cref="Schedule"/>.</summary>
    public int CallCount { get; private set; }

    /// <summary>Waits to be run.</summary>
    public int Count => _scheduled.Count;

    public void Schedule(ReadOnlySpan<LoopWorkItem> items)
    {
        CallCount++;
        foreach (LoopWorkItem item in items)
        {
            _scheduled.Enqueue(item);
        }
    }

    public void RunAll()
    {
        for (int left = _scheduled.Count; left > 0; left--)
        {
            _scheduled.Dequeue().Execute();
        }
    }
}
