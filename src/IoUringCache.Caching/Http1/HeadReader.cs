using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Http1;

/// <summary>Takes the heads of answers, and passes over interim ones. One at a time; owned by its connection.</summary>
/// <param name="input">Of the connection.</param>
internal sealed class HeadReader(PipeReader input)
{
    /// <summary>Interim heads before the answer; each may be as long as a head.</summary>
    private const int MaxInterim = 32;

    private const int InitialFields = 12;

    /// <summary>A longer head is not kept for the next one: idle connections would add up to much memory.</summary>
    private const int MaxKeptBytes = 4 * 1024;

    /// <summary>Of the head that came last; the other list is empty but for the time of a <see cref="TryTake"/>.</summary>
    private List<HeaderField> _fields = new(InitialFields);
    private List<HeaderField> _before = new(InitialFields);
    private int _length;
    private int _interim;

    /// <summary>Whether not a byte of the answer has come since it was waited for.</summary>
    public bool IsSilent { get; private set; } = true;

    /// <summary>A request has been made, whose answer is waited for.</summary>
    public void Begin() => (IsSilent, _interim) = (true, 0);

    /// <summary>The answer has ended, and the connection may be idle for long.</summary>
    public void Rest()
    {
        if (_length > MaxKeptBytes)
        {
            _fields.Clear();
        }
    }

    /// <summary>Takes the final head, or a 101, if it has come; otherwise the connection is to be read from again.</summary>
    /// <param name="read">All that has come, which this advances over.</param>
    /// <param name="head">The head.</param>
    /// <exception cref="Http1Exception">There is none and will be none, or too many interim ones come before it.</exception>
    public bool TryTake(in ReadResult read, out ReceivedHead head)
    {
        if (TryTakeAny(read, out head))
        {
            if (head.StatusCode is >= 200 or StatusCodes.Status101SwitchingProtocols)
            {
                return true;
            }

            if (++_interim > MaxInterim)
            {
                throw new Http1Exception(Http1Fault.BadMessage, $"more than {MaxInterim} interim answers");
            }
        }
        else if (read.IsCompleted)
        {
            throw IsSilent
                ? new Http1Exception(Http1Fault.NoAnswer, "the connection was closed without an answer")
                : new Http1Exception(Http1Fault.BadMessage, "the connection ended in the middle of the head");
        }

        return false;
    }

    private bool TryTakeAny(in ReadResult read, out ReceivedHead head)
    {
        ReadOnlySequence<byte> received = read.Buffer;
        IsSilent &= received.IsEmpty;
        ReadOnlySpan<byte> bytes = received.IsSingleSegment
            ? received.FirstSpan
            : received.Slice(0, Math.Min(received.Length, HeadParser.MaxBytes + 4)).ToArray();
        int length = bytes.IsEmpty ? 0 : HeadParser.LengthOf(bytes);
        if (length == 0)
        {
            input.AdvanceTo(received.Start, received.End);
            head = default;
            return false;
        }

        (_fields, _before, _length) = (_before, _fields, length);
        head = HeadParser.Parse(bytes[..length], _fields, _before);
        _before.Clear();
        input.AdvanceTo(received.GetPosition(length));
        return true;
    }
}
