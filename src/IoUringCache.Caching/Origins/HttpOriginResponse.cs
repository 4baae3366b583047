using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A response that comes over a connection, with the time-outs of its body. One reader at a time; disposing drops the connection unless the
/// body was read.
/// </summary>
internal sealed class HttpOriginResponse : OriginResponse
{
    private readonly HttpResponseMessage _message;
    private readonly Stream _body;
    private readonly OriginConnection? _connection;
    private readonly OriginOptions _options;
    private readonly TimeProvider _time;
    private readonly long _headersAt;
    private readonly TimeSpan _maxAge;
    private readonly CancellationTokenSource _idle;
    private bool _hasBegun;

    /// <param name="replica">Whose answer it is.</param>
    /// <param name="message">What the HTTP stack made of it; disposed with this.</param>
    /// <param name="head">As it came.</param>
    /// <param name="receipt">When.</param>
    /// <param name="body">Of the message.</param>
    /// <param name="connection">On which it comes.</param>
    /// <param name="maxAge">Time since the origin was asked after which the body is not waited for any more.</param>
    /// <param name="options">Time-outs of the body.</param>
    /// <param name="time">Their clock.</param>
    public HttpOriginResponse(
        OriginReplica replica,
        HttpResponseMessage message,
        ResponseHead head,
        Receipt receipt,
        Stream body,
        OriginConnection? connection,
        TimeSpan maxAge,
        OriginOptions options,
        TimeProvider time)
        : base(head, receipt)
    {
        (Replica, _message, _body, _connection, _maxAge) = (replica, message, body, connection, maxAge);
        (_options, _time, _headersAt) = (options, time, time.GetTimestamp());
        _idle = new(Timeout.InfiniteTimeSpan, time);
    }

    public override OriginReplica Replica { get; }

    /// <summary>Given back with the end of the answer.</summary>
    public OriginPlace? Place { get; set; }

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        (TimeSpan patience, string detail) = Patience;
        if (patience <= TimeSpan.Zero)
        {
            throw TooLate(patience, detail);
        }

        try
        {
            // Often there is something already, and then no clock is needed.
            ValueTask<int> reading = _body.ReadAsync(memory, _idle.Token);
            _hasBegun |= reading.IsCompletedSuccessfully;
            return reading.IsCompletedSuccessfully ? reading : WaitAsync(reading, patience, detail, cancellationToken);
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw Broken(failure);
        }
    }

    private async ValueTask<int> WaitAsync(ValueTask<int> reading, TimeSpan patience, string detail, CancellationToken cancellationToken)
    {
        await using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), _idle);
        _idle.CancelAfter(patience);
        try
        {
            int count = await reading;
            _hasBegun = true;
            return count;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw TooLate(patience, detail);
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw Broken(failure);
        }
        finally
        {
            _idle.CancelAfter(Timeout.InfiniteTimeSpan);
        }
    }

    public override void Refuse()
    {
        _connection?.Retire();
        Dispose();
    }

    public override void Dispose()
    {
        _message.Dispose();
        _idle.Dispose();
        Place?.Dispose();
    }

    /// <summary>How long to wait for the next bytes, and what it means if they do not come.</summary>
    private (TimeSpan Time, string Detail) Patience
    {
        get
        {
            TimeSpan left = _maxAge - Receipt.Delay - _time.GetElapsedTime(_headersAt);
            (TimeSpan Time, string Detail) usual = _hasBegun
                ? (_options.IdleTimeout, "origin-idle-timeout")
                : (_options.FirstByteTimeout, "origin-first-byte-timeout");
            return left < usual.Time ? (left, "fill-too-old") : usual;
        }
    }

    private static OriginException Broken(Exception failure) => OriginException.BadGateway("origin-body-broken", failure.Message, failure);

    private static OriginException TooLate(TimeSpan patience, string detail) =>
        OriginException.Timeout(detail, $"no byte of the body came in the last {patience.TotalSeconds:0.###} s that it had");
}
