using System.Buffers;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// Takes the framing off the body of a response: a length, chunks or the end of the connection. One body's; one user.
/// <code>
///             length                            chunks
///   Begin ------------> Data ---> End            Size --CR--> SizeLf --LF--> Data ---> DataCr --> DataLf --> Size
///     |    no length      |                       | ;                                   (size over 0)
///     +-----------> Data  | end of connection     v                \
///                         +--> End            Extension --CR--> SizeLf (size 0)
///                                                                     \--LF--> Trailer --CR--> TrailerLf --LF--> Trailer, or End
///                                                                                             after an empty line
/// </code>
/// Each line must end with CR LF, a size is 1 to 15 hexadecimal digits with nothing behind them but an extension (RFC 9112 7.1), and a trailer
/// is a field; all else is <see cref="Http1Fault.BadMessage"/>. Extensions and trailers are dropped.
/// </summary>
internal sealed class BodyDecoder
{
    /// <summary>Bytes of extensions of one chunk, and of all trailers.</summary>
    private const int MaxExtraBytes = 64 * 1024;

    private const int MaxDigits = 15;

    private readonly ArrayBufferWriter<byte> _trailer = new();
    private State _state;
    private bool _isChunked;
    private bool _isUntilEnd;
    private long _left;
    private int _digits;
    private int _extraBytes;

    private enum State
    {
        /// <summary>Bytes of the body: of a chunk, of the length, or until the end of the connection.</summary>
        Data,
        DataCr,
        DataLf,
        Size,
        Extension,
        SizeLf,
        Trailer,
        TrailerLf,
        End,
    }

    public bool HasEnded => _state == State.End;

    /// <summary>Bytes that surely follow, without framing between; 0 if that is not known.</summary>
    public long Expected => _state == State.Data && !_isUntilEnd ? _left : 0;

    /// <param name="framing">Of the next body.</param>
    public void Begin(BodyFraming framing)
    {
        _isChunked = framing.IsChunked;
        _isUntilEnd = framing is { IsChunked: false, Length: null };
        _left = framing.Length ?? long.MaxValue;
        BeginSize();
        _state = _isChunked ? State.Size : _left == 0 ? State.End : State.Data;
    }

    /// <summary>There is none.</summary>
    public void BeginNone() => _state = State.End;

    /// <summary>Reads on.</summary>
    /// <param name="received">What has come.</param>
    /// <param name="body">Room for its bytes, which may be those of <paramref name="received"/>.</param>
    /// <param name="produced">Bytes written to it.</param>
    /// <returns>How much of <paramref name="received"/> is used up: all, unless the room or the body has ended.</returns>
    /// <exception cref="Http1Exception">It is not framed as it should be.</exception>
    public int Decode(ReadOnlySpan<byte> received, Span<byte> body, out int produced)
    {
        produced = 0;
        int read = 0;
        while (read < received.Length && _state != State.End)
        {
            if (_state == State.Data)
            {
                int count = (int)Math.Min(Math.Min(_left, received.Length - read), body.Length - produced);
                if (count == 0)
                {
                    return read;
                }

                received.Slice(read, count).CopyTo(body[produced..]); // Costs nothing where they lie there already.
                read += count;
                produced += count;
                Pass(count);
            }
            else
            {
                read += ReadFraming(received[read..]);
            }
        }

        return read;
    }

    /// <summary>Counts bytes of the body, which may have gone past this.</summary>
    /// <param name="count">0 or more, and no more than are left of the body, or of its chunk.</param>
    public void Pass(int count)
    {
        if (!_isUntilEnd)
        {
            _left -= count;
            if (_left == 0)
            {
                _state = _isChunked ? State.DataCr : State.End;
            }
        }
    }

    /// <summary>The connection has ended orderly.</summary>
    /// <exception cref="Http1Exception">More was to come.</exception>
    public void EndOfConnection()
    {
        if (!_isUntilEnd)
        {
            throw new Http1Exception(Http1Fault.BadMessage, "the connection ended in the middle of the body");
        }

        _state = State.End;
    }

    /// <summary>Reads one byte of a line, or up to a line's end.</summary>
    private int ReadFraming(ReadOnlySpan<byte> received)
    {
        byte next = received[0];
        switch (_state)
        {
            case State.Size when char.IsAsciiHexDigit((char)next) && _digits < MaxDigits:
                _left = (_left << 4) + (char.IsAsciiDigit((char)next) ? next - '0' : (next | 0x20) - 'a' + 10);
                _digits++;
                return 1;
            case State.Size when next == ';' && _digits > 0:
                _state = State.Extension;
                return 1;
            case State.Size when next == '\r' && _digits > 0:
                _state = State.SizeLf;
                return 1;
            case State.Extension:
                return ReadExtension(received);
            case State.SizeLf when next == '\n':
                _state = _left > 0 ? State.Data : State.Trailer;
                return 1;
            case State.DataCr when next == '\r':
                _state = State.DataLf;
                return 1;
            case State.DataLf when next == '\n':
                BeginSize();
                _state = State.Size;
                return 1;
            case State.Trailer:
                return ReadTrailer(received);
            case State.TrailerLf when next == '\n':
                EndTrailer();
                return 1;
            default:
                throw new Http1Exception(Http1Fault.BadMessage, "the body is not in chunks as it should be");
        }
    }

    private int ReadExtension(ReadOnlySpan<byte> received)
    {
        int length = LengthOfLine(received, out bool hasEnd);
        if (!HeadParser.IsText(received[..length]))
        {
            throw new Http1Exception(Http1Fault.BadMessage, "an extension of a chunk holds a control character");
        }

        _state = hasEnd ? State.SizeLf : State.Extension;
        return length + (hasEnd ? 1 : 0);
    }

    private int ReadTrailer(ReadOnlySpan<byte> received)
    {
        int length = LengthOfLine(received, out bool hasEnd);
        _trailer.Write(received[..length]);
        _state = hasEnd ? State.TrailerLf : State.Trailer;
        return length + (hasEnd ? 1 : 0);
    }

    private void EndTrailer()
    {
        bool isLast = _trailer.WrittenCount == 0;
        if (!isLast)
        {
            HeadParser.CheckField(_trailer.WrittenSpan);
            _trailer.ResetWrittenCount();
        }

        _state = isLast ? State.End : State.Trailer;
    }

    /// <summary>Bytes before the CR, or all where it has not come.</summary>
    private int LengthOfLine(ReadOnlySpan<byte> received, out bool hasEnd)
    {
        int end = received.IndexOf((byte)'\r');
        hasEnd = end >= 0;
        int length = hasEnd ? end : received.Length;
        _extraBytes += length;
        return _extraBytes <= MaxExtraBytes
            ? length
            : throw new Http1Exception(Http1Fault.BadMessage, $"extensions or trailers of chunks are longer than {MaxExtraBytes} bytes");
    }

    private void BeginSize()
    {
        _digits = 0;
        _extraBytes = 0;
        if (_isChunked)
        {
            _left = 0;
        }
    }
}
