using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using IoUringCache.Caching.Options;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A response that comes over a connection, with the time-outs of its body. One reader at a time; disposing drops the connection unless the
/// body was read.
/// </summary>
/// <param name="head">As it came.</param>
/// <param name="receipt">When.</param>
/// <param name="body">With its connection; disposed with this.</param>
/// <param name="askedAt">Time stamp of the request.</param>
/// <param name="maxAge">Time since then after which the body is not waited for any more; <see cref="TimeSpan.MaxValue"/>: any.</param>
/// <param name="options">Time-outs of the body.</param>
/// <param name="time">Their clock.</param>
internal sealed class HttpOriginResponse(
    ResponseHead head, Receipt receipt, IResponseBody body, long askedAt, TimeSpan maxAge, OriginOptions options, TimeProvider time)
    : OriginResponse(head, receipt)
{
    private const string TooOld = "fill-too-old";

    private OriginReplica? _replica;
    private OriginPlace? _place;
    private bool _hasBegun;

    public override OriginReplica? Replica => _replica;

    /// <summary>Tells whose answer it is.</summary>
    /// <param name="replica">The address.</param>
    /// <param name="place">Given back with the end of the answer.</param>
    public void Belongs(OriginReplica replica, OriginPlace? place) => (_replica, _place) = (replica, place);

    /// <inheritdoc/>
    public override bool HasBytes => body.HasBytes;

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken) => ReadAsync(memory, null, cancellationToken);

    /// <inheritdoc/>
    public override ValueTask<int> ReceiveAsync(SplicePipe pipe, CancellationToken cancellationToken) => ReadAsync(default, pipe, cancellationToken);

    private ValueTask<int> ReadAsync(Memory<byte> memory, SplicePipe? pipe, CancellationToken cancellationToken)
    {
        (TimeSpan patience, string detail) = Patience;
        if (patience <= TimeSpan.Zero)
        {
            throw TooLate(patience, detail);
        }

        try
        {
            ValueTask<int> reading = pipe is null
                ? body.ReadAsync(memory, patience, cancellationToken)
                : body.ReceiveAsync(pipe, patience, cancellationToken);
            _hasBegun |= reading.IsCompletedSuccessfully;
            return reading.IsCompletedSuccessfully ? reading : WaitAsync(reading, patience, detail);
        }
        catch (Http1Exception failure)
        {
            throw Translate(failure, patience, detail);
        }
    }

    /// <inheritdoc/>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            await body.WriteAsync(bytes, cancellationToken);
        }
        catch (Http1Exception failure)
        {
            throw Translate(failure, TimeSpan.Zero, "");
        }
    }

    /// <inheritdoc/>
    public override void EndInOrder() => body.CloseInOrder();

    public override void Refuse()
    {
        body.Close();
        Dispose();
    }

    public override void Dispose()
    {
        body.Dispose();
        _place?.Dispose();
    }

    private async ValueTask<int> WaitAsync(ValueTask<int> reading, TimeSpan patience, string detail)
    {
        try
        {
            int count = await reading;
            _hasBegun = true;
            return count;
        }
        catch (Http1Exception failure)
        {
            throw Translate(failure, patience, detail);
        }
    }

    /// <summary>How long to wait for the next bytes, and what it means if they do not come.</summary>
    private (TimeSpan Time, string Detail) Patience
    {
        get
        {
            if (IsUpgraded)
            {
                // The relay has one time for both directions.
                return (TimeSpan.FromDays(40), "upgrade-idle-timeout");
            }

            TimeSpan left = maxAge == TimeSpan.MaxValue ? maxAge : maxAge - time.GetElapsedTime(askedAt);
            (TimeSpan Time, string Detail) usual = _hasBegun
                ? (options.IdleTimeout, "origin-idle-timeout")
                : (options.FirstByteTimeout, "origin-first-byte-timeout");
            return left < usual.Time ? (left, TooOld) : usual;
        }
    }

    private static OriginException Translate(Http1Exception failure, TimeSpan patience, string detail) => failure.Fault == Http1Fault.Late
        ? TooLate(patience, detail)
        : OriginException.BrokenBody(failure);

    private static OriginException TooLate(TimeSpan patience, string detail) => new(
        StatusCodes.Status504GatewayTimeout, detail, $"no byte of the body came in the last {patience.TotalSeconds:0.###} s that it had")
    {
        IsBreak = detail != TooOld,
    };
}
