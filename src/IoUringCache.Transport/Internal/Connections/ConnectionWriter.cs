using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The application's end of what a connection sends. The application fills pinned segments; a flush moves them to the queue and marks
/// the connection, and the loop sends everything that is queued by then in one gathered send.
/// <para>
/// The application's methods come from any thread, one at a time (<see cref="CancelPendingFlush"/> at any time);
/// <see cref="TryTakeForSend"/>, <see cref="OnSent"/> and <see cref="Fail"/> from the loop's. One lock guards the queue, whose turn it is
/// to send from it, and the flush state; the unflushed segments are the application's alone. No continuation runs under the lock, and none
/// inside a call by the application. Owned by its connection.
/// </para>
/// </summary>
internal sealed partial class ConnectionWriter : PipeWriter, IPendingCallOwner<FlushResult>
{
    private readonly EventLoop _loop;
    private readonly Action<bool> _send;
    private readonly Action<Exception?> _complete;
    private readonly long _pauseAt;
    private readonly long _resumeBelow;
    private readonly Lock _lock = new();
    private readonly PendingCall<FlushResult> _flush;

    private bool _cancelRequested;

    /// <summary>Bytes flushed and not yet sent, those of the send in flight included.</summary>
    private long _unsentBytes;

    /// <summary>Flushes have to wait: the limit was reached, and not half of it since. Under the lock.</summary>
    private bool _isFull;

    private bool _dead;
    private bool _completed;
    private ZeroCopyOffer _offer;

    /// <param name="loop">The connection's loop.</param>
    /// <param name="socket">The connection's descriptor, open until <see cref="TryAwaitDirect"/> is true after <see cref="Fail"/>.</param>
    /// <param name="pauseAt">Flushed and unsent bytes at which a flush waits.</param>
    /// <param name="send">Asks the connection to send, and says whether nobody waits for that; any thread.</param>
    /// <param name="complete">Tells the connection that the application has written its last; any thread.</param>
    internal ConnectionWriter(EventLoop loop, int socket, long pauseAt, Action<bool> send, Action<Exception?> complete)
    {
        _loop = loop;
        _socket = socket;
        _pauseAt = pauseAt;
        _resumeBelow = Math.Max(1, pauseAt / 2);
        _send = send;
        _complete = complete;
        _flush = new PendingCall<FlushResult>(this, _lock, loop);
    }

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => _unflushedBytes;

    public override Memory<byte> GetMemory(int sizeHint = 0) =>
        _offer.IsMade && _offer.TryTake(sizeHint, out Memory<byte> range) ? range : SegmentWithRoom(sizeHint).FreeMemory;

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        _offer.Withdraw();
        return SegmentWithRoom(sizeHint).FreeSpan;
    }

    public override void Advance(int bytes)
    {
        if (_offer.IsMade && _offer.TryAccept(bytes, out ZeroCopySource loan))
        {
            if (IsDead)
            {
                return;
            }

            if (_unflushedLast?.TryExtend(loan) != true)
            {
                Append(_loop.SendSegments.RentFor(loan));
            }

            _unflushedBytes += bytes;
            return;
        }

        if (bytes == 0)
        {
            return;
        }

        if (_unflushedLast is null || (uint)bytes > (uint)_unflushedLast.FreeLength)
        {
            throw new ArgumentOutOfRangeException(nameof(bytes), bytes, "More bytes than the memory that was asked for.");
        }

        if (IsDead)
        {
            return; // The same memory is given again: what an application writes that never flushes does not pile up.
        }

        _unflushedLast.Written(bytes);
        _unflushedBytes += bytes;
    }

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
    {
        ThrowIfCompleted();
        if (IsDead)
        {
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));
        }

        return cancellationToken.IsCancellationRequested
            ? ValueTask.FromCanceled<FlushResult>(cancellationToken) // The base class would keep the bytes, and the next flush send them.
            : base.WriteAsync(source, cancellationToken);
    }

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);
        }

        _offer.Withdraw();
        CancellationTokenRegistration registration = _flush.Register(cancellationToken);
        bool send;
        SendSegment? unused;
        SendSegment? direct;
        ValueTask<FlushResult> result = default;
        try
        {
            lock (_lock)
            {
                if (!_flush.IsIdle)
                {
                    throw new InvalidOperationException("A flush is already pending.");
                }

                send = MoveToQueue(out unused);
                direct = send && MustWait && !_loop.IsOwner ? TakeForDirectSend() : null;
                if (direct is null)
                {
                    result = ResultOrWait(cancellationToken, ref registration);
                }
            }

            if (direct is not null)
            {
                send = SendDirectly(direct);
                lock (_lock)
                {
                    result = ResultOrWait(cancellationToken, ref registration);
                }
            }
        }
        finally
        {
            registration.Unregister();
        }

        Release(unused);
        if (send)
        {
            _send(!_isRoomMissing && direct is null);
        }

        return result;
    }

    public override void CancelPendingFlush()
    {
        EndedWaits ended;
        lock (_lock)
        {
            _cancelRequested = true;
            ended = EndWaits();
        }

        Schedule(ended);
    }

    public override void Complete(Exception? exception = null)
    {
        _offer.Withdraw();
        SendSegment? dropped;
        SendSegment? unused;
        lock (_lock)
        {
            if (_completed)
            {
                return;
            }

            _completed = true;
            MoveToQueue(out dropped);
            _isFull |= _unsentBytes >= _pauseAt;

            // What is left is memory that was asked for and not written to.
            unused = _unflushedFirst;
            _unflushedFirst = null;
            _unflushedLast = null;
        }

        Release(dropped);
        Release(unused);
        _complete(exception);
    }

    /// <summary>Offers a loan to the next call of the application's thread; see <see cref="ZeroCopyOffer"/>. Application's thread.</summary>
    internal void Offer(in ZeroCopySource loan) => _offer.Make(loan);

    /// <summary>Ends an offer that nobody took. Application's thread.</summary>
    internal void WithdrawOffer() => _offer.Withdraw();

    /// <summary>Whether something is queued; whoever queues more asks the connection to send after it. Loop thread.</summary>
    internal bool HasQueued => Volatile.Read(ref _queuedFirst) is not null;

    /// <summary>
    /// Takes what is queued for one send: a range of a file, or the memory up to the next one, in <paramref name="segmentCount"/> segments
    /// at most. The caller owns them from here on, and has the turn until all of it is sent. False if another thread has the turn, which
    /// asks the connection to send when that ends. Loop thread.
    /// </summary>
    /// <param name="segmentCount">1 or more.</param>
    /// <param name="first">The first of them; null if nothing is queued.</param>
    /// <param name="fileFollows">Whether what comes next is a range of a file.</param>
    internal bool TryTakeForSend(int segmentCount, out SendSegment? first, out bool fileFollows)
    {
        lock (_lock)
        {
            first = null;
            fileFollows = false;
            if (IsDirect)
            {
                _turn = SendTurn.Awaited;
                return false;
            }

            first = _queuedFirst;
            if (first is null)
            {
                return true;
            }

            _turn = SendTurn.Loop;
            SendSegment last = first;
            for (int count = 1; count < segmentCount && first.File is null && last.Next is { File: null } next; count++)
            {
                last = next;
            }

            fileFollows = last.Next is { File: not null };

            _queuedFirst = last.Next;
            if (_queuedFirst is null)
            {
                _queuedLast = null;
            }

            last.Next = null;
            return true;
        }
    }

    /// <summary>
    /// Bytes of what the loop has taken have left, and their segments go back; a flush that waits goes on below half of the limit. Nothing
    /// left ends the loop's turn. Loop thread.
    /// </summary>
    /// <returns>The rest, which still has to be sent.</returns>
    internal SendSegment? OnSent(SendSegment? taken, int bytes)
    {
        SendSegment? rest = DropSent(taken, bytes);
        EndedWaits ended;
        lock (_lock)
        {
            if (rest is null)
            {
                _turn = SendTurn.Free;
            }

            ended = EndWaitsAfter(bytes);
        }

        Schedule(ended);
        return rest;
    }

    /// <summary>Nothing more will be sent: drops the queue; every flush from now on reports completion. Loop thread.</summary>
    internal void Fail()
    {
        EndedWaits ended;
        SendSegment? dropped;
        lock (_lock)
        {
            Volatile.Write(ref _dead, true);
            dropped = _queuedFirst;
            _queuedFirst = null;
            _queuedLast = null;
            ended = EndWaits();
        }

        Release(dropped);
        Schedule(ended);
    }

    Exception? IPendingCallOwner<FlushResult>.Conclude(CancellationToken cancellationToken, out FlushResult result)
    {
        result = TakeResult();
        return cancellationToken.IsCancellationRequested ? new OperationCanceledException(cancellationToken) : null;
    }

    /// <summary>Under the lock.</summary>
    private bool MustWait => (_isFull || _unsentBytes >= _pauseAt) && IsOpen;

    /// <summary>Whether nothing but the room for it ends a wait. Under the lock.</summary>
    private bool IsOpen => !_dead && !_cancelRequested;

    /// <summary>Whether nothing will be sent any more. Any thread.</summary>
    private bool IsDead => Volatile.Read(ref _dead);

    /// <summary>Under the lock.</summary>
    private ValueTask<FlushResult> ResultOrWait(CancellationToken cancellationToken, ref CancellationTokenRegistration registration)
    {
        _isFull |= _unsentBytes >= _pauseAt;
        bool mustWait = MustWait;
        _isRoomMissing = mustWait;
        if (!mustWait || _isWaitApart)
        {
            return new ValueTask<FlushResult>(TakeResult());
        }

        return cancellationToken.IsCancellationRequested
            ? ValueTask.FromCanceled<FlushResult>(cancellationToken)
            : _flush.Begin(cancellationToken, ref registration);
    }

    private FlushResult TakeResult()
    {
        bool cancelled = _cancelRequested;
        _cancelRequested = false;
        return new FlushResult(cancelled, _dead);
    }

    /// <summary>Bytes have left, and waits end below half of the limit. Under the lock; after it, <see cref="Schedule"/>.</summary>
    private EndedWaits EndWaitsAfter(int sentBytes)
    {
        _unsentBytes -= sentBytes;
        if (_unsentBytes >= _resumeBelow)
        {
            return EndedWaits.None;
        }

        _isFull = false;
        return EndWaits();
    }

    /// <summary>Under the lock; after it, <see cref="Schedule"/>.</summary>
    private EndedWaits EndWaits() =>
        (_flush.TryEndWait() ? EndedWaits.Flush : EndedWaits.None) | (_room?.TryEndWait() == true ? EndedWaits.Room : EndedWaits.None);

    /// <summary>Not under the lock.</summary>
    private void Schedule(EndedWaits ended)
    {
        if ((ended & EndedWaits.Flush) != 0)
        {
            _flush.Schedule();
        }

        if ((ended & EndedWaits.Room) != 0)
        {
            _room!.Schedule();
        }
    }

    /// <summary>Waits that have ended, and whose continuations can be run.</summary>
    [Flags]
    private enum EndedWaits
    {
        None = 0,
        Flush = 1,
        Room = 2,
    }
}
