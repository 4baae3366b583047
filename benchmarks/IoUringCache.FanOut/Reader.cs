using System.Text;

namespace IoUringCache.FanOut;

/// <summary>One reader's response, byte by byte: head, chunks of the chunked coding, and in them those of the pattern. One thread.</summary>
internal sealed class Reader(int index, Pattern pattern, Results results)
{
    private const int LongestHead = 4096;

    private readonly StringBuilder _head = new();
    private readonly byte[] _header = new byte[Pattern.HeaderBytes];
    private ReaderState _state;
    private int _left;
    private int _offset;
    private long _number;

    internal bool HasHead => _state > ReaderState.Head;

    internal bool IsDone => _state == ReaderState.Done;

    internal bool HasFailed => _state == ReaderState.Failed;

    /// <summary>Whatever came, in the order in which it came.</summary>
    internal void OnReceived(ReadOnlySpan<byte> data, long now)
    {
        while (!data.IsEmpty && _state != ReaderState.Failed)
        {
            if (_state == ReaderState.Data)
            {
                int count = Math.Min(_left, data.Length);
                Check(data[..count], now);
                data = data[count..];
                _left -= count;
                _state = _left == 0 ? ReaderState.AfterData : ReaderState.Data;
            }
            else
            {
                OnFraming(data[0]);
                data = data[1..];
            }
        }
    }

    /// <summary>The connection has ended.</summary>
    internal void OnEnd()
    {
        if (!IsDone)
        {
            Fail("the connection ended before the body did");
        }
    }

    private void OnFraming(byte next)
    {
        switch (_state)
        {
            case ReaderState.Head:
                OnHead((char)next);
                break;
            case ReaderState.Size when next == '\n':
                _state = _left == 0 ? ReaderState.AfterLast : ReaderState.Data;
                break;
            case ReaderState.Size when char.IsAsciiHexDigit((char)next):
                _left = (_left * 16) + Convert.ToInt32(((char)next).ToString(), 16);
                break;
            case ReaderState.Size or ReaderState.AfterData or ReaderState.AfterLast when next == '\r':
                break;
            case ReaderState.AfterData when next == '\n':
                _state = ReaderState.Size;
                break;
            case ReaderState.AfterLast when next == '\n':
                _state = ReaderState.Done;
                break;
            default:
                Fail($"unexpected byte {next} as {_state}");
                break;
        }
    }

    private void OnHead(char next)
    {
        _head.Append(next);
        if (_head.Length > LongestHead)
        {
            Fail("a head without an end");
        }
        else if (next == '\n' && _head.Length >= 4 && _head.ToString(_head.Length - 4, 4) == "\r\n\r\n")
        {
            string head = _head.ToString();
            _head.Clear().Capacity = 0;
            _state = ReaderState.Size;
            if (!head.StartsWith("HTTP/1.1 200", StringComparison.Ordinal)
                || !head.Contains("Transfer-Encoding: chunked", StringComparison.OrdinalIgnoreCase))
            {
                Fail($"answered '{head.Split("\r\n")[0]}', or not chunked");
            }
        }
    }

    private void Check(ReadOnlySpan<byte> data, long now)
    {
        while (!data.IsEmpty)
        {
            int count = Math.Min(data.Length, (_offset < Pattern.HeaderBytes ? Pattern.HeaderBytes : pattern.ChunkBytes) - _offset);
            ReadOnlySpan<byte> piece = data[..count];
            data = data[count..];
            if (_offset < Pattern.HeaderBytes)
            {
                piece.CopyTo(_header.AsSpan(_offset));
                if (_offset + count == Pattern.HeaderBytes && Pattern.NumberOf(_header) != _number)
                {
                    results.Wrong(1, $"reader {index}: chunk {Pattern.NumberOf(_header)} in the place of chunk {_number}");
                }
            }
            else if (!piece.SequenceEqual(pattern.Expected(_number, _offset, count)))
            {
                int wrong = 0;
                ReadOnlySpan<byte> expected = pattern.Expected(_number, _offset, count);
                for (int at = 0; at < count; at++)
                {
                    wrong += piece[at] == expected[at] ? 0 : 1;
                }

                results.Wrong(wrong, $"reader {index}: {wrong} wrong bytes in chunk {_number}");
            }

            _offset += count;
            if (_offset == pattern.ChunkBytes)
            {
                results.Delivered(Pattern.StampOf(_header), now);
                _offset = 0;
                _number++;
            }
        }
    }

    private void Fail(string what)
    {
        _state = ReaderState.Failed;
        results.Wrong(0, $"reader {index}: {what}");
    }
}
