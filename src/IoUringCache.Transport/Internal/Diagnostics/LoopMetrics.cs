using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// A loop's counters and its id, the smallest that no running loop of the process has. A later loop with the same id
/// counts on, since a counter never goes back. Any thread; owned by <see cref="IoUringMetrics"/>, whose lock guards the
/// ring.
/// </summary>
internal sealed class LoopMetrics(int id)
{
    private KernelRing? _ring;
    private Func<int>? _countBusy;
    private long _endedSubmissions;
    private long _endedCompletions;
    private long _endedEnters;
    private long _reassignments;
    private long _starvations;

    /// <summary>The attribute of all measurements of the loop.</summary>
    internal KeyValuePair<string, object?> Attribute { get; } = new("iouring.loop.id", id);

    internal bool IsRunning => _ring is not null;

    internal long Submissions => _endedSubmissions + (_ring?.SubmittedCount ?? 0);

    internal long Completions => _endedCompletions + (_ring?.Completions.CompletedCount ?? 0);

    internal long Enters => _endedEnters + (_ring?.EnterCount ?? 0);

    internal long Reassignments => Volatile.Read(ref _reassignments);

    internal long Starvations => Volatile.Read(ref _starvations);

    /// <summary>Busy connections; null without a limit for them.</summary>
    internal int? BusyConnections => _countBusy?.Invoke();

    internal void CountReassignment() => Interlocked.Increment(ref _reassignments);

    internal void CountStarvation() => Interlocked.Increment(ref _starvations);

    /// <summary>A loop begins. Under the lock.</summary>
    internal void Begin(KernelRing ring, Func<int>? countBusy) => (_ring, _countBusy) = (ring, countBusy);

    /// <summary>The loop ends, before its ring does. Under the lock.</summary>
    internal void End()
    {
        (_endedSubmissions, _endedCompletions, _endedEnters) = (Submissions, Completions, Enters);
        (_ring, _countBusy) = (null, null);
    }
}
