using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The application's end of received data, guarded by one lock. Application calls come one at a time from any thread
/// (<see cref="CancelPendingRead"/> at any time), the loop's from its thread; owned by its connection.
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
    private readonly bool _readsDataFirst;

    private ReaderState _state;
    private DirectRead _direct;
    private BusyMark _busy;
    private bool _cancelRequested;
    private bool _paused;
    private bool _ended;
    private Exception? _error;
    private bool _completed;

    /// <param name="loop">The connection's loop.</param>
    /// <param name="settings">When receiving pauses, and what comes first.</param>
    /// <param name="resume">Asks to receive again; any thread, under this reader's lock.</param>
    internal ConnectionReader(EventLoop loop, ConnectionSettings settings, Action resume)
    {
        _loop = loop;
        _pauseAt = settings.MaxReadBufferSize;
        _resumeBelow = Math.Max(1, _pauseAt / 2);
        _resume = resume;
        _busy = new BusyMark(settings.CountsAsBusy ? loop.Busy : null);
        _readsDataFirst = settings.ReadsDataFirst;
        _data = new ReceivedData();
        _read = new PendingCall<ReadResult>(this, _lock, loop);
    }

    /// <summary>Whether the application has completed the reader. Any thread.</summary>
    internal bool IsCompleted => Volatile.Read(ref _completed);

    /// <summary>Whether a read is under way; a hint, read without the lock. Any thread.</summary>
    internal bool IsWaiting => !_read.IsIdle;

    /// <summary>Adds a received buffer, which the reader now owns. Loop thread.</summary>
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

            _direct.OnReceived(segment.Memory.Length);
            _data.Add(segment);
            _busy.Set(true);

            // Data that arrives during the cancellation must not end the pause: only AdvanceTo does.
            paused = _paused |= _data.UnexaminedBytes >= _pauseAt;
            schedule = TryEndWait();
        }

        _read.ScheduleIf(schedule);
        return paused ? ReceiveDemand.Pause : ReceiveDemand.More;
    }

    /// <summary>
    /// Whether the next bytes are received only into memory or a pipe of the application, and that; none if it has to
    /// come. It is the loop's until <see cref="GiveBack"/>. Loop thread.
    /// </summary>
    internal bool TakesDirectly(out ReceiveTarget target)
    {
        lock (_lock)
        {
            target = _direct.Lend();
            return _direct.Expected > 0;
        }
    }

    /// <summary>Whether the next bytes are those of a body that is read directly. Loop thread.</summary>
    internal bool ExpectsBody()
    {
        lock (_lock)
        {
            return _direct.Expected > 0;
        }
    }

    /// <summary>Whether the read that has lent memory or a pipe is to end without data. Loop thread.</summary>
    internal bool WantsTargetBack()
    {
        lock (_lock)
        {
            return _direct.IsLent && (_cancelRequested || _completed);
        }
    }

    /// <summary>Ends the loan, with bytes or without. Loop thread.</summary>
    /// <param name="target">What was lent.</param>
    /// <param name="length">Bytes received into the start of the memory, or into the pipe.</param>
    /// <param name="isRefused">Whether a pipe took nothing though something is there, or memory could not be pinned.</param>
    internal void GiveBack(in ReceiveTarget target, int length, bool isRefused)
    {
        bool schedule;
        lock (_lock)
        {
            _direct.Return(isRefused);
            if (length > 0 && !_completed && !_ended)
            {
                _direct.OnReceived(length, isInPipe: target.Pipe is not null);
                if (target.Pipe is null)
                {
                    _data.Add(target.Memory[..length]);
                }

                _busy.Set(true);
            }

            schedule = HasResult && TryEndWait();
        }

        _read.ScheduleIf(schedule);
    }

    /// <summary>Ends the data with FIN (null) or an error; the first call counts. Loop thread.</summary>
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
            schedule = TryEndWait();
        }

        _read.ScheduleIf(schedule);
    }

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) => ReadAsync(default, 0, cancellationToken);

    /// <inheritdoc cref="ZeroCopy.IDirectReceiveFeature"/>
    internal ValueTask<ReadResult> ReadAsync(in ReceiveTarget target, long expected)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(expected, 1);
        return ReadAsync(target, expected, CancellationToken.None);
    }

    private ValueTask<ReadResult> ReadAsync(ReceiveTarget target, long expected, CancellationToken cancellationToken)
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
                Expect(expected == 0 ? 0 : Math.Max(0, expected - _data.Unconsumed.Length));
                if (HasResult && (!_loop.RunsApplicationCode || _loop.IsOwner))
                {
                    result = Failure is { } failure ? ValueTask.FromException<ReadResult>(failure) : new ValueTask<ReadResult>(TakeResult());
                }
                else
                {
                    // A read ends on a loop that runs application code: Kestrel first reads on the thread pool, and
                    // would handle the request there.
                    result = _read.Begin(cancellationToken, ref registration, mustMove: _loop.RunsApplicationCode && !_loop.IsOwner);
                    schedule = HasResult && TryEndWait();
                    _busy.Await(HasResult);
                    Offer(HasResult ? default : target);
                }
            }
        }
        finally
        {
            registration.Unregister();
        }

        _read.ScheduleIf(schedule);
        return result;
    }

    public override bool TryRead(out ReadResult result)
    {
        lock (_lock)
        {
            ThrowIfCompleted();
            ThrowIfReading();
            // After less was examined than before, there is data without news: a read waits, and this does not.
            if (!HasResult && _data.UnexaminedBytes == 0)
            {
                _state = ReaderState.Tentative;
                result = default;
                return false;
            }

            result = Failure is { } failure ? throw failure : TakeResult();
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

            // An empty result has the default position: nothing consumed or examined.
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
            schedule = TryEndWait();
            if (_direct.IsLent)
            {
                _resume(); // The read ends when the loop has the memory back.
            }
        }

        _read.ScheduleIf(schedule);
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
            _busy.Set(false);
            _data.Clear();
            ResumeIf(true);
        }
    }

    Exception? IPendingCallOwner<ReadResult>.GetResult(CancellationToken cancellationToken, out ReadResult result)
    {
        result = default;
        if (Failure is { } failure)
        {
            return failure;
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

    private bool HasResult => _cancelRequested || _ended || _data.HasNews || _direct.HasPiped;

    /// <summary>What the next read throws, in the place of a cancellation and of data that does not come first.</summary>
    private Exception? Failure => _readsDataFirst && (_data.UnexaminedBytes > 0 || _direct.HasPiped) ? null : _error;

    private static InvalidOperationException ReadingIsOver() => new("Reading is not allowed after the reader was completed.");

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw ReadingIsOver();
        }
    }

    /// <summary>After a receive error, a second read throws that error instead.</summary>
    private void ThrowIfReading()
    {
        if ((_state == ReaderState.Reading && Failure is null) || !_read.IsIdle)
        {
            throw new InvalidOperationException("Reading is already in progress.");
        }
    }

    /// <summary>Under the lock.</summary>
    private bool TryEndWait()
    {
        if (_direct.IsLent)
        {
            return false;
        }

        _direct.Withdraw();
        return _read.TryEndWait();
    }

    /// <summary>Under the lock: the loop hears when a body begins, whose next bytes are not for its buffers, and when it ends.</summary>
    private void Expect(long bytes)
    {
        bool isChange = _direct.Expected > 0 != bytes > 0;
        _direct.Expect(bytes);
        if (isChange)
        {
            _resume();
        }
    }

    /// <summary>Under the lock.</summary>
    private void Offer(in ReceiveTarget target)
    {
        if (_direct.Expected > 0 && !target.IsNone)
        {
            _direct.Offer(target);
            _resume();
        }
    }

    /// <summary>Under the lock.</summary>
    private void ResumeIf(bool isReady)
    {
        if (_paused && isReady)
        {
            _paused = false;
            _resume();
        }
    }

    private ReadResult TakeResult()
    {
        bool cancelled = _cancelRequested;
        _cancelRequested = false;
        _direct.EndRead();
        _state = cancelled ? ReaderState.Tentative : ReaderState.Reading;
        return new ReadResult(_data.Unconsumed, cancelled, _ended && _error is null);
    }
}
