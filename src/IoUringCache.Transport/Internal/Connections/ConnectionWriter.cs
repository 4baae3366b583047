using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The application's end of sent data: a flush moves its segments to the queue, whose lock guards the rest. Application
/// calls come one at a time from any thread (<see cref="CancelPendingFlush"/> at any time); owned by its connection.
/// </summary>
internal sealed class ConnectionWriter : PipeWriter, IPendingCallOwner<FlushResult>
{
    private readonly EventLoop _loop;
    private readonly SendQueue _queue;
    private readonly Action<bool> _send;
    private readonly Action<Exception?> _complete;
    private readonly PendingCall<FlushResult> _flush;

    private SendSegment? _unflushedFirst;
    private SendSegment? _unflushedLast;
    private long _unflushedBytes;

    private bool _cancelRequested;
    private bool _completed;
    private ZeroCopyOffer _offer;
    private SpaceWait? _spaceWait;

    /// <summary>
    /// Whether a flush leaves its wait to the caller. Application's thread; a flush that Kestrel makes meanwhile sees it
    /// too and does not wait, and then the application's next flush does.
    /// </summary>
    private bool _skipsWait;

    /// <param name="loop">The connection's loop.</param>
    /// <param name="queue">The connection's queue, for this writer alone.</param>
    /// <param name="send">Asks the connection to send; the argument says whether that can wait. Any thread.</param>
    /// <param name="complete">Completes the output, with an error or null. Any thread.</param>
    internal ConnectionWriter(EventLoop loop, SendQueue queue, Action<bool> send, Action<Exception?> complete)
    {
        _loop = loop;
        _queue = queue;
        _send = send;
        _complete = complete;
        _flush = new PendingCall<FlushResult>(this, queue.Lock, loop);
        queue.FlushCall = _flush;
    }

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => _unflushedBytes;

    public override Memory<byte> GetMemory(int sizeHint = 0) =>
        _offer.IsMade && _offer.TryTake(sizeHint, out Memory<byte> range) ? range : SegmentWithSpace(sizeHint).FreeMemory;

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        _offer.Withdraw();
        return SegmentWithSpace(sizeHint).FreeSpan;
    }

    public override void Advance(int bytes)
    {
        if (_offer.IsMade && _offer.TryAccept(bytes, out ZeroCopySource source))
        {
            if (_queue.IsClosed)
            {
                return;
            }

            if (_unflushedLast?.TryExtend(source) != true)
            {
                Append(_loop.SendSegments.RentFor(source));
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

        if (_queue.IsClosed)
        {
            return; // The next call gets the same memory: an application that writes and never flushes does not pile up bytes.
        }

        _unflushedLast.Written(bytes);
        _unflushedBytes += bytes;
    }

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
    {
        ThrowIfCompleted();
        if (_queue.IsClosed)
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
        bool mustWait = false;
        SendSegment? unused;
        SendSegment? direct;
        ValueTask<FlushResult> result = default;
        try
        {
            lock (_queue.Lock)
            {
                if (!_flush.IsIdle)
                {
                    throw new InvalidOperationException("A flush is already pending.");
                }

                send = MoveToQueue(out unused);
                // Only a flush that has to wait: fewer sends take more bytes each (docs/design/sending.md, figures).
                direct = send && MustWait && !_loop.IsOwner ? _queue.TakeForDirectSend() : null;
                if (direct is null)
                {
                    result = ResultOrWait(cancellationToken, ref registration, out mustWait);
                }
            }

            if (direct is not null)
            {
                send = _queue.SendDirectly(direct);
                lock (_queue.Lock)
                {
                    result = ResultOrWait(cancellationToken, ref registration, out mustWait);
                }
            }
        }
        finally
        {
            registration.Unregister();
        }

        _loop.SendSegments.ReturnAll(unused);
        if (send)
        {
            _send(!mustWait && direct is null);
        }

        return result;
    }

    public override void CancelPendingFlush()
    {
        (bool, bool) ended;
        lock (_queue.Lock)
        {
            _cancelRequested = true;
            ended = _queue.EndWaits();
        }

        _queue.Schedule(ended);
    }

    public override void Complete(Exception? exception = null)
    {
        _offer.Withdraw();
        SendSegment? unused;
        lock (_queue.Lock)
        {
            if (_completed)
            {
                return;
            }

            _completed = true;
            MoveToQueue(out unused);
            _queue.UpdateIsFull();
            unused ??= _unflushedFirst; // Memory that was asked for and not written to.
            _unflushedFirst = null;
            _unflushedLast = null;
        }

        _loop.SendSegments.ReturnAll(unused);
        _complete(exception);
    }

    /// <inheritdoc cref="IZeroCopyFeature.Offer"/>
    internal void Offer(in ZeroCopySource source) => _offer.Make(source);

    /// <inheritdoc cref="IZeroCopyFeature.UnsentBytes"/>
    internal long UnsentBytes => _queue.UnsentBytes;

    /// <inheritdoc cref="IZeroCopyFeature.TryFlush"/>
    internal bool TryFlush(in ZeroCopySource source, out FlushResult result, out bool mustWait)
    {
        result = default;
        mustWait = false;
        if (_unflushedBytes != 0 || _completed)
        {
            return false;
        }

        SendSegment segment = _loop.SendSegments.RentFor(source);
        SendSegment? unused = segment;
        bool send = false;
        bool isPossible;
        lock (_queue.Lock)
        {
            isPossible = _flush.IsIdle;
            if (isPossible)
            {
                send = _queue.TryEnqueue(segment, segment, source.Length, out unused);
                _queue.UpdateIsFull();
                mustWait = MustWait;
                result = TakeResult();
            }
        }

        _loop.SendSegments.ReturnAll(unused);
        if (send)
        {
            _send(!mustWait);
        }

        return isPossible;
    }

    /// <inheritdoc cref="IZeroCopyFeature.WithdrawOffer"/>
    internal void WithdrawOffer() => _offer.Withdraw();

    /// <inheritdoc cref="IZeroCopyFeature.SkipWait"/>
    internal void SkipWait(bool value)
    {
        _skipsWait = value;
        HasSkippedWait &= !value;
    }

    /// <inheritdoc cref="IZeroCopyFeature.HasSkippedWait"/>
    internal bool HasSkippedWait { get; private set; }

    /// <summary>The zero-copy wait for space; null without Kestrel's heartbeats. Application's thread.</summary>
    internal SpaceWait? GetSpaceWait(IFeatureCollection features) => _spaceWait ??=
        features.Get<IConnectionHeartbeatFeature>() is { } heartbeat ? new SpaceWait(this, _queue, _loop, heartbeat) : null;

    /// <summary>Whether a flush must wait for space. Under the queue's lock.</summary>
    internal bool MustWait => _queue.MustWait && !_cancelRequested;

    /// <summary>Whether there is space and a flush has nothing to report. Under the queue's lock.</summary>
    internal bool IsOpenWithSpace => !_queue.MustWait && !_queue.IsClosed && !_cancelRequested;

    Exception? IPendingCallOwner<FlushResult>.GetResult(CancellationToken cancellationToken, out FlushResult result)
    {
        result = TakeResult();
        return cancellationToken.IsCancellationRequested ? new OperationCanceledException(cancellationToken) : null;
    }

    /// <summary>Under the queue's lock.</summary>
    private ValueTask<FlushResult> ResultOrWait(
        CancellationToken cancellationToken, ref CancellationTokenRegistration registration, out bool mustWait)
    {
        _queue.UpdateIsFull();
        mustWait = MustWait;
        HasSkippedWait |= mustWait && _skipsWait; // Until the next SkipWait(true), whatever other flushes do.
        if (!mustWait || _skipsWait)
        {
            return new ValueTask<FlushResult>(TakeResult());
        }

        return cancellationToken.IsCancellationRequested
            ? ValueTask.FromCanceled<FlushResult>(cancellationToken)
            : _flush.Begin(cancellationToken, ref registration);
    }

    /// <summary>Under the queue's lock.</summary>
    private FlushResult TakeResult()
    {
        bool cancelled = _cancelRequested;
        _cancelRequested = false;
        return new FlushResult(cancelled, _queue.IsClosed);
    }

    /// <summary>Moves unflushed bytes to the queue; true if there are bytes to send. Under the queue's lock.</summary>
    /// <param name="unused">Segments that the caller returns after the lock.</param>
    private bool MoveToQueue(out SendSegment? unused)
    {
        unused = null;
        if (_unflushedBytes == 0)
        {
            return false;
        }

        bool isQueued = _queue.TryEnqueue(_unflushedFirst!, _unflushedLast!, _unflushedBytes, out unused);
        _unflushedFirst = null;
        _unflushedLast = null;
        _unflushedBytes = 0;
        return isQueued;
    }

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }
    }

    private SendSegment SegmentWithSpace(int sizeHint)
    {
        ThrowIfCompleted();
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        if (_unflushedLast is not null && _unflushedLast.FreeLength >= Math.Max(1, sizeHint))
        {
            return _unflushedLast;
        }

        SendSegment? rest = _unflushedLast is null ? _queue.TryRentRest(sizeHint) : null;
        SendSegment segment = rest ?? _loop.SendSegments.Rent(Math.Max(sizeHint, NextSize));
        Append(segment);
        return segment;
    }

    /// <summary>Small after a flush or zero-copy bytes, then larger.</summary>
    private int NextSize => _unflushedLast switch
    {
        null or { IsZeroCopy: true } => SendSegmentPool.SmallSize,
        { Capacity: SendSegmentPool.MediumSize or SendSegmentPool.LargeSize } => SendSegmentPool.LargeSize,
        _ => SendSegmentPool.MediumSize,
    };

    private void Append(SendSegment segment)
    {
        if (_unflushedLast is null)
        {
            _unflushedFirst = segment;
        }
        else
        {
            _unflushedLast.Next = segment;
        }

        _unflushedLast = segment;
    }
}
