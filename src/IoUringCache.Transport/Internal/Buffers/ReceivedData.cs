using System.Buffers;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Received data that the application has not consumed: segments, and positions in the stream with consumed &lt;=
/// examined &lt;= received. Owned by its reader, whose lock guards it.
/// </summary>
internal sealed class ReceivedData
{
    /// <summary>The most weight held; further data is copied, so that few connections cannot stop a loop.</summary>
    private const int MaxHeldWeight = 16;

    /// <summary>The most bytes copied to save a buffer.</summary>
    private const int SmallPiece = 4096;

    /// <summary>Bounds of rented memory, in bytes; in between it is as large as the unconsumed data.</summary>
    private const int MinRented = 512;
    private const int MaxRented = 16 * 1024;

    private ReceivedSegment? _first;
    private ReceivedSegment? _last;
    private int _heldWeight;
    private long _consumed;
    private long _examined;
    private long _received;

    internal long UnexaminedBytes => _received - _examined;

    /// <summary>Whether data has arrived since the application examined everything.</summary>
    internal bool HasNews { get; private set; }

    /// <summary>The unconsumed data; default if there is none.</summary>
    internal ReadOnlySequence<byte> Unconsumed => _first is null
        ? default
        : new ReadOnlySequence<byte>(_first, (int)(_consumed - _first.RunningIndex), _last!, _last!.Memory.Length);

    /// <summary>Adds data in its buffer; copies small pieces and data above the limits.</summary>
    internal void Add(ReceivedSegment segment)
    {
        int length = segment.Memory.Length;
        bool fits = _last is not null && _last.FreeLength >= length;
        IReceiveBufferOwner buffers = segment.Buffers!;
        if (!(fits && length <= SmallPiece) && _heldWeight + buffers.Weight <= MaxHeldWeight && !buffers.IsScarce)
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

    /// <summary>Adds data in memory of the application, which gave it for that.</summary>
    internal void Add(Memory<byte> memory)
    {
        ReceivedSegment segment = new(buffers: null, ReceivedSegment.NoBuffer);
        segment.Fill(memory, memory.Length);
        Link(segment);
        _received += memory.Length;
        HasNews = true;
    }

    /// <summary>Converts to a position in the stream; null for the default position.</summary>
    /// <exception cref="InvalidCastException">The position belongs to another sequence.</exception>
    internal static long? PositionOf(SequencePosition position) =>
        (ReceivedSegment?)position.GetObject() is { } segment ? segment.RunningIndex + position.GetInteger() : null;

    /// <summary>Releases the segments before <paramref name="consumed"/>.</summary>
    /// <param name="consumed">At most <paramref name="examined"/>; null consumes nothing.</param>
    /// <param name="examined">Null examines nothing.</param>
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
            // It may go back: after ReadAtLeastAsync a caller may examine less than that method did.
            _examined = examinedTo;
            HasNews &= examinedTo != _received;
        }

        if (consumed is { } consumedTo)
        {
            _examined = Math.Max(_examined, consumedTo);
            Consume(consumedTo);
        }
    }

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
