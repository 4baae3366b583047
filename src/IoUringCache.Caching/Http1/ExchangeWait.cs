using System.IO.Pipelines;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// The waits of a connection, one at a time, and what ends them without bytes: the time, the caller, a request whose body has failed. Each of
/// these wakes who waits, from any thread, and who was woken asks why. So a wait needs no token source, and a wake-up that comes too late does
/// nothing. Owned by its connection.
/// </summary>
internal sealed class ExchangeWait : IWaitClock, IDisposable
{
    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly Deadline _deadline;

    /// <summary>Guards <see cref="_isForHead"/> with what the request's body does to the time: it may end beside the wait.</summary>
    private readonly Lock _lock = new();
    private bool _isForHead;
    private CancellationToken _caller;
    private CancellationTokenRegistration _registration;
    private volatile Exception? _requestFailure;
    private volatile bool _isFlushing;

    /// <param name="input">What is waited for.</param>
    /// <param name="output">Where a flush may wait as well.</param>
    /// <param name="time">Clock.</param>
    public ExchangeWait(PipeReader input, PipeWriter output, TimeProvider time)
    {
        (_input, _output) = (input, output);
        _deadline = new(time, Wake);
    }

    /// <summary>Begins a wait, which the caller ends in any case.</summary>
    /// <param name="patience">How long.</param>
    /// <param name="isForHead">
    /// Whether a request is sent first, and the time stands still while the request's body is waited for. The answer's body has a time of its own.
    /// </param>
    /// <param name="caller">Gives up.</param>
    /// <exception cref="OperationCanceledException">The caller has given up.</exception>
    public void Begin(TimeSpan patience, bool isForHead, CancellationToken caller)
    {
        caller.ThrowIfCancellationRequested();
        (_isFlushing, _caller) = (isForHead, caller);
        lock (_lock)
        {
            _isForHead = isForHead;
            _deadline.Start(patience);
        }

        _registration = caller.UnsafeRegister(static wait => ((ExchangeWait)wait!).Wake(), this);
    }

    /// <summary>
    /// The head of the request has left. Other flushes are those of its body, of which a part would be sent twice; the end of the connection
    /// ends them.
    /// </summary>
    public void EndFlush() => _isFlushing = false;

    public void End()
    {
        _isFlushing = false;
        lock (_lock)
        {
            _isForHead = false;
            _deadline.End();
        }

        _registration.Unregister();
    }

    /// <summary>The body of the request could not be read.</summary>
    public void FailRequest(Exception failure)
    {
        _requestFailure = failure;
        Wake();
    }

    /// <summary>Throws if this wait was ended.</summary>
    /// <exception cref="Http1Exception">By the time, or by the request.</exception>
    /// <exception cref="OperationCanceledException">By the caller.</exception>
    public void ThrowIfOver()
    {
        _caller.ThrowIfCancellationRequested();
        if (_requestFailure is { } failure)
        {
            throw new Http1Exception(Http1Fault.RequestFailed, "the request's body could not be read", failure);
        }

        if (_deadline.IsOver)
        {
            throw new Http1Exception(Http1Fault.Late, "nothing came in time");
        }
    }

    /// <summary>What to tell of a connection that broke during this wait.</summary>
    public Exception Translate(Exception failure) => _caller.IsCancellationRequested
        ? new OperationCanceledException(_caller)
        : new Http1Exception(Http1Fault.BadMessage, failure.Message, failure);

    public void Dispose() => _deadline.Dispose();

    void IWaitClock.Stop()
    {
        lock (_lock)
        {
            if (_isForHead)
            {
                _deadline.Stop();
            }
        }
    }

    void IWaitClock.Restart()
    {
        lock (_lock)
        {
            if (_isForHead)
            {
                _deadline.Restart();
            }
        }
    }

    private void Wake()
    {
        _input.CancelPendingRead();
        if (_isFlushing)
        {
            _output.CancelPendingFlush();
        }
    }
}
