using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The application's end of what a connection receives. Received buffers are the segments that the application parses,
/// without a copy, and return to the kernel when it has advanced past them or has completed the reader.
/// <para>
/// The application's methods come from any thread, one at a time (<see cref="CancelPendingRead"/> at any time);
/// <see cref="Append"/> and <see cref="End"/> from the loop's. One lock guards the state; no continuation runs under
/// it, and none inside a call by the application. Owned by its connection.
/// </para>
/// </summary>
internal sealed class ConnectionReader : PipeReader, IPendingCallOwner<ReadResult>
{
    private readonly EventLoop _loop;
    private readonly Action _resume;
    private readonly long _pauseAt;
    private readonly long _resumeBelow;
    private readonly Lock _lock = new();
    private readonly ReceivedData _data;
    private readonly PendingCall<ReadResult> _read;
    private readonly LoopBacklog? _backlog;

    private ReaderState _state;
    private bool _cancelRequested;

    /// <summary>
    /// The application has got bytes, or is about to, and has not asked for more. Counted only where the loop has a
    /// limit.
    /// </summary>
    private bool _isBusy;

    private bool _paused;
    private bool _ended;

    /// <summary>Ends reading at once, before the data that is left and before a cancellation.</summary>
    private Exception? _error;

    private bool _completed;

    /// <param name="loop">The connection's loop.</param>
    /// <param name="pauseAt">Received and unexamined bytes at which <see cref="Append"/> asks for a pause.</param>
    /// <param name="resume">
    /// Asks the connection to receive again; called from any thread, under this reader's lock.
    /// </param>
    internal ConnectionReader(EventLoop loop, long pauseAt, Action resume)
    {
        _loop = loop;
        _pauseAt = pauseAt;
        _resumeBelow = Math.Max(1, pauseAt / 2);
        _resume = resume;
        _backlog = loop.Backlog;
        _data = new ReceivedData();
        _read = new PendingCall<ReadResult>(this, _lock, loop);
    }

    /// <summary>Whether the application has completed the reader. Any thread.</summary>
    internal bool IsCompleted => Volatile.Read(ref _completed);

    /// <summary>Whether a read waits; a hint, because it is read without the lock. Any thread.</summary>
    internal bool IsWaiting => !_read.IsIdle;

    /// <summary>
    /// Takes a received buffer, which is the reader's from here on. Loop thread.
    /// </summary>
    internal ReceiveDemand Append(ReceivedSegment segment)
    {
        bool schedule;
        bool paused;
        lock (_lock)
        {
            if (_completed || _ended)
            {
                segment.Release();
                return ReceiveDemand.None;
            }

            _data.Add(segment);
            SetBusy(true);

            // Data that arrives while the receive is being cancelled must not end the pause: only AdvanceTo does, and
            // asks for more.
            paused = _paused |= _data.UnexaminedBytes >= _pauseAt;
            schedule = _read.TryEndWait();
        }

        ScheduleIf(schedule);
        return paused ? ReceiveDemand.Pause : ReceiveDemand.More;
    }

    /// <summary>
    /// Ends the data, with the peer's FIN (no error) or the reason. The first call counts. Loop thread.
    /// </summary>
    internal void End(Exception? error)
    {
        bool schedule;
        lock (_lock)
        {
            if (_ended)
            {
                return;
            }

            _ended = true;
            _error = error;
            schedule = _read.TryEndWait();
        }

        ScheduleIf(schedule);
    }

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        CancellationTokenRegistration registration = _read.Register(cancellationToken);
        bool schedule = false;
        ValueTask<ReadResult> result;
        try
        {
            lock (_lock)
            {
                ThrowIfCompleted();
                if (cancellationToken.IsCancellationRequested)
                {
                    return ValueTask.FromCanceled<ReadResult>(cancellationToken);
                }

                ThrowIfReading();
                if (HasResult && (!_loop.RunsApplicationCode || _loop.IsOwner))
                {
                    result = _error is null ? new ValueTask<ReadResult>(TakeResult()) : ValueTask.FromException<ReadResult>(_error);
                }
                else
                {
                    // If the loop runs application code, a read ends on its thread: Kestrel asks for a connection's
                    // first bytes on the thread pool, and the request would be handled there.
                    result = _read.Begin(cancellationToken, ref registration, mustMove: _loop.RunsApplicationCode && !_loop.IsOwner);
                    schedule = HasResult && _read.TryEndWait();
                    SetBusy(_isBusy && HasResult);
                }
            }
        }
        finally
        {
            registration.Unregister();
        }

        ScheduleIf(schedule);
        return result;
    }

    public override bool TryRead(out ReadResult result)
    {
        lock (_lock)
        {
            ThrowIfCompleted();
            ThrowIfReading();
            if (!HasResult && _data.UnexaminedBytes == 0)
            {
                _state = ReaderState.Tentative;
                result = default;
                return false;
            }

            result = _error is null ? TakeResult() : throw _error;
            return true;
        }
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        lock (_lock)
        {
            if (_completed)
            {
                throw new InvalidOperationException("Advancing is not allowed after the reader was completed.");
            }

            // An empty result has the default position, which consumes and examines nothing.
            long? consumedTo = ReceivedData.PositionOf(consumed);
            long? examinedTo = ReceivedData.PositionOf(examined);
            if (examinedTo < consumedTo)
            {
                throw new InvalidOperationException("The examined position is before the consumed one.");
            }

            if (_state == ReaderState.Free)
            {
                throw new InvalidOperationException("There is no read to advance: read first.");
            }

            _data.Advance(consumedTo, examinedTo);
            _state = ReaderState.Free;
            ResumeIf(_data.UnexaminedBytes < _resumeBelow);
        }
    }

    public override void CancelPendingRead()
    {
        bool schedule;
        lock (_lock)
        {
            _cancelRequested = true;
            schedule = _read.TryEndWait();
        }

        ScheduleIf(schedule);
    }

    public override void Complete(Exception? exception = null)
    {
        lock (_lock)
        {
            if (_completed)
            {
                return;
            }

            _completed = true;
            SetBusy(false);
            _data.Clear();
            ResumeIf(true);
        }
    }

    Exception? IPendingCallOwner<ReadResult>.GetResult(CancellationToken cancellationToken, out ReadResult result)
    {
        result = default;
        if (_error is not null)
        {
            return _error;
        }

        if (cancellationToken.IsCancellationRequested && (_cancelRequested || !HasResult))
        {
            _cancelRequested = false;
            _state = ReaderState.Tentative;
            return new OperationCanceledException(cancellationToken);
        }

        if (!HasResult)
        {
            return ReadingIsOver(); // The application completed it after the result was scheduled.
        }

        result = TakeResult();
        return null;
    }

    private bool HasResult => _cancelRequested || _ended || _data.HasNews;

    private static InvalidOperationException ReadingIsOver() => new("Reading is not allowed after the reader was completed.");

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw ReadingIsOver();
        }
    }

    /// <summary>If receiving has failed, a second read throws that error and not this one.</summary>
    private void ThrowIfReading()
    {
        if ((_state == ReaderState.Reading && _error is null) || !_read.IsIdle)
        {
            throw new InvalidOperationException("Reading is already in progress.");
        }
    }

    /// <summary>Runs the continuation of a read whose wait has ended. Not under the lock.</summary>
    private void ScheduleIf(bool hasEnded)
    {
        if (hasEnded)
        {
            _read.Schedule();
        }
    }

    /// <summary>Ends a pause. Under the lock.</summary>
    private void ResumeIf(bool isReady)
    {
        if (_paused && isReady)
        {
            _paused = false;
            _resume();
        }
    }

    /// <summary>Under the lock.</summary>
    private void SetBusy(bool isBusy)
    {
        if (_backlog is null || isBusy == _isBusy)
        {
            return;
        }

        _isBusy = isBusy;
        if (isBusy)
        {
            _backlog.Add();
        }
        else
        {
            _backlog.Remove();
        }
    }

    private ReadResult TakeResult()
    {
        bool cancelled = _cancelRequested;
        _cancelRequested = false;
        _state = cancelled ? ReaderState.Tentative : ReaderState.Reading;
        return new ReadResult(_data.Unconsumed, cancelled, _ended);
    }
}
