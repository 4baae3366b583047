using System.IO.Pipelines;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// What an end point that is run for everybody writes its body to: starts the response with the first flush, and refuses bytes above the length
/// that was announced. Used by one thread at a time.
/// </summary>
/// <param name="exchange">Whose body it is.</param>
/// <param name="pipe">To the fill.</param>
internal sealed class EndpointBodyWriter(EndpointExchange exchange, PipeWriter pipe) : PipeWriter
{
    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => pipe.UnflushedBytes;

    /// <summary>Bytes of the body so far.</summary>
    public long WrittenBytes { get; private set; }

    public override Memory<byte> GetMemory(int sizeHint = 0) => pipe.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => pipe.GetSpan(sizeHint);

    public override void Advance(int bytes)
    {
        if (WrittenBytes + bytes > exchange.Headers.ContentLength)
        {
            throw new InvalidOperationException(
                $"Response Content-Length mismatch: too many bytes written ({WrittenBytes + bytes} of {exchange.Headers.ContentLength}).");
        }

        WrittenBytes += bytes;
        pipe.Advance(bytes);
    }

    /// <summary>Also waits while the readers of the object are behind. Complete once nobody wants more.</summary>
    public override async ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        await exchange.StartAsync(cancellationToken);
        return await pipe.FlushAsync(cancellationToken);
    }

    public override void CancelPendingFlush() => pipe.CancelPendingFlush();

    /// <summary>The end point writes no more; the body ends when it has returned.</summary>
    public override void Complete(Exception? exception = null)
    {
        if (exception is not null)
        {
            exchange.Fail(exception);
        }
    }
}
