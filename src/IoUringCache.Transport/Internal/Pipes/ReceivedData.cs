using System.Buffers;

namespace IoUringCache.Transport.Internal.Pipes;

/// <summary>
/// What a connection received and the application has not consumed: a list of segments, and three positions in the stream of all bytes
/// ever received, consumed &lt;= examined &lt;= received. Not safe by itself: its reader's lock guards it. Owned by that reader.
/// </summary>
internal sealed class ReceivedData
{
    /// <summary>
    /// A connection that holds this many of the loop's buffers, of which a large one counts as four, has further data copied, so that few
    /// can never stop all.
    /// </summary>
    private const int MaxHeldBuffers = 16;

    /// <summary>More than this is not copied to save a buffer.</summary>
    private const int SmallPiece = 4096;

    /// <summary>
    /// Bytes of the memory that such data is copied to: about what is held already, so that many who send little are given little, and
    /// what is rented is never much more than what is held.
    /// </summary>
    private const int SmallestRented = 512;
    private const int LargestRented = 16 * 1024;

    private ReceivedSegment? _first;
    private ReceivedSegment? _last;
    private int _heldBuffers;
    private long _consumed;
    private long _examined;
    private long _received;

    /// <summary>Bytes that the application has not looked at.</summary>
    internal long UnexaminedBytes => _received - _examined;

    /// <summary>Everything that is not consumed.</summary>
    internal ReadOnlySequence<byte> Unconsumed => _first is null
        ? ReadOnlySequence<byte>.Empty
        : new ReadOnlySequence<byte>(_first, (int)(_consumed - _first.RunningIndex), _last!, _last!.Memory.Length);

    /// <summary>
    /// Takes received data, in its buffer if it can stay there. Small pieces go behind what the last segment holds, so that a client
    /// that sends byte by byte does not hold a buffer for each; and above the limits data moves to memory of its own.
    /// </summary>
    internal void Add(ReceivedSegment segment)
    {
        int length = segment.Memory.Length;
        bool fits = _last is not null && _last.FreeLength >= length;
        IReceiveBufferOwner buffers = segment.Buffers!;
        if (!(fits && length <= SmallPiece) && _heldBuffers + buffers.CountsAs <= MaxHeldBuffers && !buffers.IsScarce)
        {
            _heldBuffers += buffers.CountsAs;
            Link(segment);
        }
        else
        {
            if (!fits)
            {
                Link(ReceivedSegment.Rent((int)Math.Max(length, Math.Clamp(_received - _consumed, SmallestRented, LargestRented))));
            }

            _last!.Append(segment.Memory.Span);
            segment.Release();
        }

        _received += length;
    }

    /// <summary>Lets go of the segments that lie wholly before <paramref name="consumed"/>.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A position is outside of the data, or examined lies before consumed.</exception>
    /// <exception cref="InvalidOperationException">A position is of another reader.</exception>
    internal void Advance(SequencePosition consumed, SequencePosition examined)
    {
        long consumedTo = PositionOf(consumed);
        long examinedTo = PositionOf(examined);
        if (consumedTo < _consumed || consumedTo > _received)
        {
            throw new ArgumentOutOfRangeException(nameof(consumed), "The position is not in the data that was read.");
        }

        if (examinedTo < consumedTo || examinedTo > _received)
        {
            throw new ArgumentOutOfRangeException(nameof(examined), "The examined position is before the consumed one, or not in the data.");
        }

        // It may go back: a caller of ReadAtLeastAsync does not know what that examined, and looks at part of it only.
        _examined = examinedTo;
        Consume(consumedTo);
    }

    /// <summary>Lets go of everything.</summary>
    internal void Clear()
    {
        _examined = _received;
        Consume(_received);
    }

    private static long PositionOf(SequencePosition position) =>
        position.GetObject() is ReceivedSegment segment
            ? segment.RunningIndex + position.GetInteger()
            : throw new InvalidOperationException("The position does not belong to this reader.");

    private void Link(ReceivedSegment segment)
    {
        segment.Link(_last, _received);
        _first ??= segment;
        _last = segment;
    }

    private void Consume(long position)
    {
        _consumed = position;
        while (_first is not null && _first.End <= position)
        {
            ReceivedSegment segment = _first;
            _first = segment.NextSegment;
            if (_first is null)
            {
                _last = null;
            }

            _heldBuffers -= segment.Buffers?.CountsAs ?? 0;
            segment.Release();
        }
    }
}
