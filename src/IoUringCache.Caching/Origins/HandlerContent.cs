using System.Buffers;
using System.Net;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The body of a request as the HTTP stack of the base library takes it. That reads no answer before it has been given as many bytes as were
/// announced, so what is missing after a failed write is padded: the connection sends it nowhere (<see cref="OriginConnection"/>). One
/// request's.
/// </summary>
/// <param name="body">The body.</param>
/// <param name="clock">Told who is waited for.</param>
internal sealed class HandlerContent(IRequestBody body, IWaitClock clock) : HttpContent
{
    private static readonly byte[] s_padding = new byte[64 * 1024];

    private readonly CancellationTokenSource _stop = new();
    private bool _isUsed;

    /// <summary>Nobody wants the answer any more, or there will be none. The origin may have answered over HTTP/2, and read no further.</summary>
    public void Stop() => _stop.Cancel();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    /// <exception cref="IOException">The HTTP stack sends again what the origin has refused (RFC 9113 8.7), and the body is used up.</exception>
    protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        if (Interlocked.Exchange(ref _isUsed, true))
        {
            throw new IOException("the origin refused the request after its body had begun, which cannot be sent again");
        }

        using CancellationTokenSource either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        StreamTarget target = new(stream, either.Token);
        await body.CopyToAsync(target, clock);
        while (target.Sent < body.Length)
        {
            int count = (int)Math.Min(body.Length.Value - target.Sent, s_padding.Length);
            target.Sent += count;
            await stream.WriteAsync(s_padding.AsMemory(0, count), either.Token);
        }
    }

    protected override bool TryComputeLength(out long length)
    {
        length = body.Length.GetValueOrDefault();
        return body.Length is not null;
    }

    private sealed class StreamTarget(Stream stream, CancellationToken cancellationToken) : IBodyTarget
    {
        public long Sent { get; set; }

        public async ValueTask<bool> WriteAsync(ReadOnlySequence<byte> piece)
        {
            try
            {
                foreach (ReadOnlyMemory<byte> part in piece)
                {
                    Sent += part.Length;
                    await stream.WriteAsync(part, cancellationToken);
                }

                // Else a client that pauses would keep its request, headers included, in a buffer.
                await stream.FlushAsync(cancellationToken);
                return true;
            }
            catch (IOException)
            {
                return false;
            }
        }
    }
}
