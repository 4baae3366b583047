using System.Threading.Tasks.Sources;
using IoUringCache.Transport;

namespace IoUringCache.Caching.Storage;

/// <summary>
/// One who waits for changes, again and again, without memory for each wait: it is the task that is awaited and the call that goes on.
/// Awaited by one at a time; owned by whoever waits, who disposes it when it does not wait.
/// <code>
///          WaitAsync                          Raise or Cancel takes it out of the signal, under the lock
///   idle -------------> in the signal ------------------------------------------------------------------> scheduled
///     ^                                                                                                       |
///     +------------------------------- Execute: the awaiting code goes on ------------------------------------+
/// </code>
/// </summary>
internal sealed class ChangeWaiter : Waiter, IValueTaskSource<bool>, IDisposable
{
    private readonly ChangeSignal _signal;
    private readonly CancellationToken _cancelled;
    private readonly CancellationTokenRegistration _registration;
    private ManualResetValueTaskSourceCore<bool> _source;
    private IConnectionSchedulerFeature? _yieldsTo;

    /// <param name="scheduler">Where the awaiting code goes on.</param>
    /// <param name="cancelled">Ends waiting, for good.</param>
    public ChangeWaiter(ChangeSignal signal, IConnectionSchedulerFeature scheduler, CancellationToken cancelled)
        : base(scheduler)
    {
        (_signal, _cancelled) = (signal, cancelled);
        _registration = cancelled.UnsafeRegister(static waiter => ((ChangeWaiter)waiter!).OnCancelled(), this);
    }

    /// <summary>Ends at the next change after a version. True: there may be something to see.</summary>
    /// <param name="seenVersion">Taken before the state was looked at.</param>
    public ValueTask<bool> WaitAsync(long seenVersion)
    {
        if (_cancelled.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(_cancelled);
        }

        _source.Reset();
        return _signal.TryAdd(this, seenVersion) ? new(this, _source.Version) : new(true);
    }

    /// <summary>Ends when everybody else whose turn it is has had theirs.</summary>
    public ValueTask<bool> YieldAsync(IConnectionSchedulerFeature behind)
    {
        _source.Reset();
        _yieldsTo = behind;
        return new(this, _source.Version);
    }

    public override void Execute() => _source.SetResult(true);

    public void Dispose() => _registration.Unregister();

    bool IValueTaskSource<bool>.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        _source.OnCompleted(continuation, state, token, flags);
        if (_yieldsTo is { } behind)
        {
            // Not before: another thread may be so quick that the awaiting code would find the wait over, and go on without giving way.
            _yieldsTo = null;
            behind.Schedule([this]);
        }
    }

    /// <summary>Wakes it as a change does; the next wait throws.</summary>
    private void OnCancelled()
    {
        if (_signal.Cancel(this))
        {
            Scheduler.Schedule([this]);
        }
    }
}

/// <summary>One who waits for a signal, as the signal sees it. The signal's lock guards the place; owned by whoever waits.</summary>
internal abstract class Waiter(IConnectionSchedulerFeature scheduler) : LoopWorkItem
{
    public IConnectionSchedulerFeature Scheduler => scheduler;

    /// <summary>The signal's, under its lock: where it waits, -1 if it does not.</summary>
    internal int Place { get; set; } = -1;

    /// <summary>The signal's, under its lock: whether the token's callback has run, which wakes no one who comes after it.</summary>
    internal bool IsCancelled { get; set; }
}
