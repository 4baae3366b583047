using System.Buffers;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// What a connection received and the application has not consumed: a list of segments, and three positions in the
/// stream of all bytes ever received, consumed &lt;= examined &lt;= received. Not safe by itself: its reader's lock
/// guards it. Owned by that reader.
/// </summary>
internal sealed class ReceivedData
{
    /// <summary>
    /// A connection that holds buffers of this weight has further data copied, so that few connections can never stop
    /// all.
    /// </summary>
    private const int MaxHeldBuffers = 16;

    /// <summary>More than this is not copied to save a buffer.</summary>
    private const int SmallPiece = 4096;

    /// <summary>
    /// Bytes of the memory that such data is copied to: about as many as are held already, so that rented memory is
    /// never much more than the data.
    /// </summary>
    private const int MinRented = 512;
    private const int MaxRented = 16 * 1024;

    private ReceivedSegment? _first;
    private ReceivedSegment? _last;
    private int _heldWeight;
    private long _consumed;
    private long _examined;
    private long _received;

    /// <summary>Bytes that the application has not examined.</summary>
    internal long UnexaminedBytes => _received - _examined;

    /// <summary>Whether data has come since the application examined everything.</summary>
    internal bool HasNews { get; private set; }

    /// <summary>Everything that is not consumed; default if that is nothing.</summary>
    internal ReadOnlySequence<byte> Unconsumed => _first is null
        ? default
        : new ReadOnlySequence<byte>(_first, (int)(_consumed - _first.RunningIndex), _last!, _last!.Memory.Length);

    /// <summary>
    /// Adds received data, in its buffer if it can stay there. A small piece is copied behind the data of the last
    /// segment, so that a client that sends byte by byte does not hold a buffer for each; above the limits data is
    /// copied to rented memory.
    /// </summary>
    internal void Add(ReceivedSegment segment)
    {
        int length = segment.Memory.Length;
        bool fits = _last is not null && _last.FreeLength >= length;
        IReceiveBufferOwner buffers = segment.Buffers!;
        if (!(fits && length <= SmallPiece) && _heldWeight + buffers.Weight <= MaxHeldBuffers && !buffers.IsScarce)
        {
            _heldWeight += buffers.Weight;
            Link(segment);
        }
        else
        {
            if (!fits)
            {
                Link(ReceivedSegment.Rent((int)Math.Max(length, Math.Clamp(_received - _consumed, MinRented, MaxRented))));
            }

            _last!.Append(segment.Memory.Span);
            segment.Release();
        }

        _received += length;
        HasNews = true;
    }

    /// <summary>The position in the stream of all bytes; null for the default position.</summary>
    /// <exception cref="InvalidCastException">The position is of something else.</exception>
    internal static long? PositionOf(SequencePosition position) =>
        (ReceivedSegment?)position.GetObject() is { } segment ? segment.RunningIndex + position.GetInteger() : null;

    /// <summary>Releases the segments that lie wholly before <paramref name="consumed"/>.</summary>
    /// <param name="consumed">Not after <paramref name="examined"/>; null if nothing is consumed.</param>
    /// <param name="examined">Null if nothing is examined.</param>
    /// <exception cref="ArgumentOutOfRangeException">A position is outside of the data.</exception>
    internal void Advance(long? consumed, long? examined)
    {
        if (consumed < _consumed || consumed > _received)
        {
            throw new ArgumentOutOfRangeException(nameof(consumed), "The position is not in the data that was read.");
        }

        if (examined < _consumed || examined > _received)
        {
            throw new ArgumentOutOfRangeException(nameof(examined), "The position is not in the data that was read.");
        }

        if (examined is { } examinedTo)
        {
            // It may go back: a caller of ReadAtLeastAsync does not know what that examined, and looks at part of it
            // only.
            _examined = examinedTo;
            HasNews &= examinedTo != _received;
        }

        if (consumed is { } consumedTo)
        {
            _examined = Math.Max(_examined, consumedTo);
            Consume(consumedTo);
        }
    }

    /// <summary>Releases everything.</summary>
    internal void Clear()
    {
        _examined = _received;
        HasNews = false;
        Consume(_received);
    }

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

            _heldWeight -= segment.Buffers?.Weight ?? 0;
            segment.Release();
        }
    }
}
