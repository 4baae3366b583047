using IoUringCache.Transport.Internal.Buffers;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>What the application fills, and what waits for the loop: two lists of segments, and the way from one to the other.</content>
internal sealed partial class ConnectionWriter
{
    /// <summary>Less room than this, in bytes, is not worth a segment.</summary>
    private const int SmallestShare = 256;

    private SendSegment? _unflushedFirst;
    private SendSegment? _unflushedLast;
    private long _unflushedBytes;

    private SendSegment? _queuedFirst;
    private SendSegment? _queuedLast;

    /// <summary>Gives back segments that nobody uses any more.</summary>
    internal void Release(SendSegment? first)
    {
        while (first is not null)
        {
            SendSegment segment = first;
            first = segment.Next;
            _loop.SendSegments.Return(segment);
        }
    }

    /// <summary>Gives back what was sent of some segments, whose owner calls this.</summary>
    /// <returns>The rest, which still has to be sent.</returns>
    private SendSegment? DropSent(SendSegment? first, int bytes)
    {
        while (first is not null && first.Length <= bytes)
        {
            SendSegment sent = first;
            bytes -= sent.Length;
            first = sent.Next;
            _loop.SendSegments.Return(sent);
        }

        first?.Sent(bytes);
        return first;
    }

    /// <summary>Moves the unflushed bytes to the queue; true if there is something to send.</summary>
    /// <param name="unused">Segments that are of no use any more; the caller releases them outside of the lock.</param>
    private bool MoveToQueue(out SendSegment? unused)
    {
        unused = null;
        if (_unflushedBytes == 0)
        {
            return false;
        }

        SendSegment? first = _unflushedFirst;
        SendSegment? last = _unflushedLast;
        long bytes = _unflushedBytes;
        _unflushedFirst = null;
        _unflushedLast = null;
        _unflushedBytes = 0;
        if (_dead)
        {
            unused = first;
            return false;
        }

        _unsentBytes += bytes;
        if (_queuedLast?.TryJoin(first!) == true)
        {
            unused = first;
            first = first!.Next;
            unused!.Next = null;
        }

        if (first is null)
        {
            return true;
        }

        if (_queuedLast is null)
        {
            _queuedFirst = first;
        }
        else
        {
            _queuedLast.Next = first;
        }

        _queuedLast = last;
        return true;
    }

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }
    }

    private SendSegment SegmentWithRoom(int sizeHint)
    {
        ThrowIfCompleted();
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        if (_unflushedLast is not null && _unflushedLast.FreeLength >= Math.Max(1, sizeHint))
        {
            return _unflushedLast;
        }

        SendSegment segment = TryShareQueued(sizeHint) ?? _loop.SendSegments.Rent(Math.Max(sizeHint, NextSize));
        Append(segment);
        return segment;
    }

    /// <summary>The first segment after a flush, or behind lent memory, is small; whoever fills it gets larger ones.</summary>
    private int NextSize => _unflushedLast switch
    {
        null or { IsZeroCopy: true } => SendSegmentPool.SmallSize,
        { Capacity: SendSegmentPool.MediumSize or SendSegmentPool.LargeSize } => SendSegmentPool.LargeSize,
        _ => SendSegmentPool.MediumSize,
    };

    /// <summary>
    /// The free rest of what is queued last. Flushes that are faster than the loop so fill the same memory one after the other, and leave
    /// as one piece; without this each would hold a segment of its own until it is sent.
    /// </summary>
    private SendSegment? TryShareQueued(int sizeHint)
    {
        if (_unflushedLast is not null || Volatile.Read(ref _queuedLast) is null)
        {
            return null;
        }

        lock (_lock)
        {
            return _queuedLast?.FreeLength >= Math.Max(sizeHint, SmallestShare) ? _loop.SendSegments.RentRestOf(_queuedLast) : null;
        }
    }

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
