using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace IoUringCache.Caching.Http1;

/// <summary>Reads the heads of answers, and passes over interim ones. One at a time; owned by its connection.</summary>
/// <param name="input">Of the connection.</param>
/// <param name="wait">Ends a read without bytes.</param>
internal sealed class HeadReader(PipeReader input, ExchangeWait wait)
{
    /// <summary>Interim heads before the answer; each may be as long as a head.</summary>
    private const int MaxInterim = 32;

    /// <summary>Whether not a byte of the answer has come since it was waited for.</summary>
    public bool IsSilent { get; private set; } = true;

    /// <summary>A request has been made, whose answer is waited for.</summary>
    public void Begin() => IsSilent = true;

    /// <summary>The next final head, or a 101.</summary>
    /// <exception cref="Http1Exception">There is none, or too many interim ones come before it.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ReceivedHead> ReadAsync()
    {
        for (int interim = 0; ;)
        {
            ReadResult read = await input.ReadAsync(CancellationToken.None);
            if (read.IsCanceled)
            {
                wait.ThrowIfOver();
            }

            if (TryTake(read, out ReceivedHead head))
            {
                if (head.StatusCode is >= 200 or StatusCodes.Status101SwitchingProtocols)
                {
                    return head;
                }

                if (++interim > MaxInterim)
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
        }
    }

    private bool TryTake(in ReadResult read, out ReceivedHead head)
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

        head = HeadParser.Parse(bytes[..length]);
        input.AdvanceTo(received.GetPosition(length));
        return true;
    }
}
