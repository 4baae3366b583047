using System.Diagnostics;
using System.Threading.Tasks.Sources;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The read, flush or wait for space that is under way, one at a time; owned by its pipe end, whose lock guards it.
/// Continuations run neither under that lock nor inside an application call.
/// </summary>
/// <typeparam name="TResult">The result of the call.</typeparam>
internal sealed class PendingCall<TResult>(IPendingCallOwner<TResult> owner, Lock ownersLock, EventLoop loop)
    : LoopWorkItem, IValueTaskSource<TResult>
{
    private ManualResetValueTaskSourceCore<TResult> _source;
    private CancellationToken _token;
    private CancellationTokenRegistration _registration;
    private CallState _state;

    /// <summary>Whether the continuation may run as soon as the wait ends.</summary>
    private bool _canGoOn;

    /// <summary>Whether no call waits. Under the lock; without it a hint.</summary>
    internal bool IsIdle => _state == CallState.Idle;

    /// <summary>
    /// Registers for a cancellation, before the lock is taken: the second of call and cancellation under the lock sees
    /// the first. The caller unregisters unless <see cref="Begin"/> took the registration.
    /// </summary>
    internal CancellationTokenRegistration Register(CancellationToken cancellationToken) => cancellationToken.CanBeCanceled
        ? cancellationToken.UnsafeRegister(static (call, token) => ((PendingCall<TResult>)call!).OnTokenCancelled(token), this)
        : default;

    /// <summary>Begins a wait. Under the lock.</summary>
    /// <param name="cancellationToken">The call's token.</param>
    /// <param name="registration">The token's registration; this object now owns it.</param>
    /// <param name="mustMove">Whether the continuation must leave this thread; the call does not end before it is
    /// awaited.</param>
    internal ValueTask<TResult> Begin(
        CancellationToken cancellationToken, ref CancellationTokenRegistration registration, bool mustMove = false)
    {
        Debug.Assert(_state == CallState.Idle, "One call at a time.");
        _state = CallState.Waiting;
        _canGoOn = !mustMove;
        _source.Reset();
        _token = cancellationToken;
        _registration = registration;
        registration = default;
        return new ValueTask<TResult>(this, _source.Version);
    }

    /// <summary>Ends the wait; true if the caller must <see cref="Schedule"/> after the lock. Under the lock.</summary>
    internal bool TryEndWait()
    {
        if (_state != CallState.Waiting)
        {
            return false;
        }

        _state = _canGoOn ? CallState.Scheduled : CallState.Ended;
        return _canGoOn;
    }

    /// <summary>Queues the continuation, once for each ended wait. Not under the lock.</summary>
    internal void Schedule() => loop.Schedule(this);

    /// <summary><see cref="Schedule"/>, if <see cref="TryEndWait"/> said so.</summary>
    internal void ScheduleIf(bool hasEnded)
    {
        if (hasEnded)
        {
            Schedule();
        }
    }

    public override void Execute()
    {
        TResult result;
        Exception? error;
        lock (ownersLock)
        {
            Debug.Assert(_state == CallState.Scheduled, "Only a scheduled call is executed.");
            _registration.Unregister();
            _registration = default;
            CancellationToken token = _token;
            _token = default;
            _state = CallState.Idle;
            error = owner.GetResult(token, out result);
        }

        if (error is null)
        {
            _source.SetResult(result);
        }
        else
        {
            _source.SetException(error);
        }
    }

    TResult IValueTaskSource<TResult>.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<TResult>.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource<TResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        // Read first: the continuation may already have begun the next call when OnCompleted returns.
        bool canGoOn = _canGoOn;
        _source.OnCompleted(continuation, state, token, flags);
        if (canGoOn)
        {
            return;
        }

        // The second of this and the end of the wait under the lock sees the first, and schedules.
        bool schedule;
        lock (ownersLock)
        {
            _canGoOn = true;
            schedule = _state == CallState.Ended;
            if (schedule)
            {
                _state = CallState.Scheduled;
            }
        }

        ScheduleIf(schedule);
    }

    private void OnTokenCancelled(CancellationToken token)
    {
        bool schedule;
        lock (ownersLock)
        {
            // A registration of an earlier call may come late: it counts only for a call with the same cancelled token.
            schedule = _token == token && TryEndWait();
        }

        ScheduleIf(schedule);
    }
}

/// <summary>The pipe end that owns a <see cref="PendingCall{TResult}"/>.</summary>
/// <typeparam name="TResult">The result of the call.</typeparam>
internal interface IPendingCallOwner<TResult>
{
    /// <summary>
    /// Gets a scheduled call's result, or returns its exception. Where application code runs, under the lock.
    /// </summary>
    Exception? GetResult(CancellationToken cancellationToken, out TResult result);
}

/// <summary>
/// Where a call of the application stands that may have to wait.
/// <code>
///               it has to wait                      what it waits for, an end, a cancellation
///   Idle ----------------------------> Waiting ---------------------------------------------> Scheduled
///    ^                                    | the same, and it must not go on where it was          ^ |
///    |                                    | made, but it is not awaited yet                       | |
///    |                                    +------------------> Ended -----------------------------+ |
///    |                                                                 it is awaited                |
///    +------------------------- the continuation gets its result ------------------------------------+
/// </code>
/// </summary>
internal enum CallState
{
    Idle,
    Waiting,
    Ended,     // The wait has ended, but the call is not yet awaited.
    Scheduled, // The continuation is queued where application code runs.
}
