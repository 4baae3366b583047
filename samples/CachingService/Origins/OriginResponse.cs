using CachingService.Http;

namespace CachingService.Origins;

/// <summary>
/// An origin's response whose headers have come and are sound. One reader at a time; disposing drops the connection unless the body was
/// read.
/// </summary>
internal sealed class OriginResponse : IDisposable
{
    private readonly HttpResponseMessage _message;
    private readonly Stream _body;
    private readonly TimeSpan _idleTimeout;
    private readonly CancellationTokenSource _idle;

    public OriginResponse(
        OriginReplica replica,
        HttpResponseMessage message,
        ResponseHead head,
        Receipt receipt,
        Stream body,
        TimeSpan idleTimeout,
        TimeProvider time)
    {
        (Replica, _message, Head, Receipt, _body, _idleTimeout) = (replica, message, head, receipt, body, idleTimeout);
        _idle = new(Timeout.InfiniteTimeSpan, time);
    }

    /// <summary>Whose answer it is.</summary>
    public OriginReplica Replica { get; }

    public ResponseHead Head { get; }

    public Receipt Receipt { get; }

    /// <summary>Reads what has come, at least one byte; 0 at the valid end of the body.</summary>
    /// <exception cref="OriginException">Short body, bad framing, reset, or nothing came within the idle time-out.</exception>
    public async ValueTask<int> ReadAsync(Memory<byte> memory, CancellationToken cancellationToken)
    {
        await using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), _idle);
        _idle.CancelAfter(_idleTimeout);
        try
        {
            return await _body.ReadAsync(memory, _idle.Token);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw OriginException.Timeout("origin-idle-timeout", $"no byte of the body came for {_idleTimeout.TotalSeconds:0.###} s");
        }
        catch (Exception failure) when (failure is IOException or HttpRequestException)
        {
            throw OriginException.BadGateway("origin-body-broken", failure.Message, failure);
        }
        finally
        {
            _idle.CancelAfter(Timeout.InfiniteTimeSpan);
        }
    }

    public void Dispose()
    {
        _message.Dispose();
        _idle.Dispose();
    }
}
