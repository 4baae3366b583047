using System.Diagnostics;
using System.Threading.Tasks.Sources;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A read or a flush that has to wait, from the moment it knows until its continuation runs. One object for all calls of one end of a
/// pipe, which allows one at a time; the owner's lock guards it. No continuation runs under that lock, and none inside a call by the
/// application. Owned by that end.
/// </summary>
/// <typeparam name="TResult">What the call returns.</typeparam>
internal sealed class PendingCall<TResult>(IPendingCallOwner<TResult> owner, Lock ownersLock, EventLoop loop)
    : LoopWorkItem, IValueTaskSource<TResult>
{
    private ManualResetValueTaskSourceCore<TResult> _source;
    private CancellationToken _token;
    private CancellationTokenRegistration _registration;
    private CallState _state;

    /// <summary>Whether the call's continuation may be run as soon as the wait has ended.</summary>
    private bool _canGoOn;

    /// <summary>Whether no call waits. Under the lock; without it a hint.</summary>
    internal bool IsIdle => _state == CallState.Idle;

    /// <summary>
    /// Listens to a token. Before the lock is taken and the owner's state looked at: whichever of call and cancellation comes second
    /// under the lock sees the other. Unregister it afterwards unless <see cref="Begin"/> has taken it over.
    /// </summary>
    internal CancellationTokenRegistration Register(CancellationToken cancellationToken) => cancellationToken.CanBeCanceled
        ? cancellationToken.UnsafeRegister(static (call, token) => ((PendingCall<TResult>)call!).OnTokenCancelled(token), this)
        : default;

    /// <summary>A call has to wait. Under the lock.</summary>
    /// <param name="cancellationToken">The call's token.</param>
    /// <param name="registration">What listens to it; belongs to this object from here on.</param>
    /// <param name="mustMove">
    /// Whether the continuation must not run on the calling thread. A call that has ended by the time that it is awaited goes on where it
    /// is; so this one does not end before.
    /// </param>
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

    /// <summary>
    /// The call need not wait any longer; true if it did and its continuation can be run. Under the lock; after it, <see cref="Schedule"/>.
    /// </summary>
    internal bool TryEndWait()
    {
        if (_state != CallState.Waiting)
        {
            return false;
        }

        _state = _canGoOn ? CallState.Scheduled : CallState.Ended;
        return _canGoOn;
    }

    /// <summary>Has the continuation run where application code runs, once for each wait that was ended. Not under the lock.</summary>
    internal void Schedule() => loop.Schedule(this);

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
        // Read first: a continuation that may run has perhaps begun the next call by the time that this returns.
        bool canGoOn = _canGoOn;
        _source.OnCompleted(continuation, state, token, flags);
        if (canGoOn)
        {
            return;
        }

        // Whichever of the end of the wait and this comes second under the lock sees the other, and schedules.
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

        if (schedule)
        {
            Schedule();
        }
    }

    private void OnTokenCancelled(CancellationToken token)
    {
        bool schedule;
        lock (ownersLock)
        {
            // A registration of an earlier call may come late: it counts only for a call with that very token, which is cancelled too.
            schedule = _token == token && TryEndWait();
        }

        if (schedule)
        {
            Schedule();
        }
    }
}
