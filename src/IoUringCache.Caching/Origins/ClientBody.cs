using System.IO.Pipelines;
using System.Net;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// A client's body on its way to the origin. The HTTP stack leaves the copying alone when a request fails, but the server must not get
/// its request back while somebody reads it: dispose asynchronously before the handler ends. One request's.
/// </summary>
/// <param name="body">The client's.</param>
/// <param name="length">Bytes, where the client told it; else the origin gets chunks.</param>
internal sealed class ClientBody(PipeReader body, long? length) : HttpContent, IAsyncDisposable
{
    private static readonly byte[] s_padding = new byte[64 * 1024];

    private Task _copying = Task.CompletedTask;
    private long _sent;

    /// <summary>What the client's side did wrong, if that is why the copying ended: reset, broken framing, over a limit.</summary>
    public Exception? ClientFailure { get; private set; }

    /// <summary>Told who is waited for.</summary>
    public HeaderClock? Clock { get; set; }

    public async ValueTask DisposeAsync()
    {
        if (!_copying.IsCompleted)
        {
            // Not by a token: the server takes a read that ended by one for a read that goes on.
            body.CancelPendingRead();
        }

        await _copying.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        Dispose();
    }

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context, CancellationToken cancellationToken) =>
        _copying = CopyAsync(stream, cancellationToken);

    protected override bool TryComputeLength(out long computed)
    {
        computed = length.GetValueOrDefault();
        return length is not null;
    }

    private async Task CopyAsync(Stream origin, CancellationToken cancellationToken)
    {
        while (await ReadAsync() is { IsCanceled: false } read)
        {
            try
            {
                Clock?.Restart();
                if (!await TrySendAsync(origin, read, cancellationToken))
                {
                    await PadAsync(origin, cancellationToken);
                    return;
                }
            }
            finally
            {
                body.AdvanceTo(read.Buffer.End);
            }

            if (read.IsCompleted)
            {
                return;
            }
        }

        throw new OperationCanceledException("The request has failed before its body was sent.");
    }

    /// <summary>False if the origin takes no more, which is no failure yet: its answer may be on the way (RFC 9112 9.6).</summary>
    private async Task<bool> TrySendAsync(Stream origin, ReadResult read, CancellationToken cancellationToken)
    {
        try
        {
            foreach (ReadOnlyMemory<byte> piece in read.Buffer)
            {
                _sent += piece.Length;
                await origin.WriteAsync(piece, cancellationToken);
            }

            // Else a client that pauses would keep its request, headers included, in a buffer.
            await origin.FlushAsync(cancellationToken);
            return true;
        }
        catch (IOException)
        {
            return false;
        }
    }

    /// <summary>
    /// The HTTP stack reads no answer before it has been given as many bytes as were announced. The connection takes them after a failed
    /// write and sends them nowhere (<see cref="OriginConnection"/>).
    /// </summary>
    private async Task PadAsync(Stream origin, CancellationToken cancellationToken)
    {
        while (_sent < length)
        {
            int count = (int)Math.Min(length.Value - _sent, s_padding.Length);
            _sent += count;
            await origin.WriteAsync(s_padding.AsMemory(0, count), cancellationToken);
        }
    }

    private async ValueTask<ReadResult> ReadAsync()
    {
        Clock?.Stop();
        try
        {
            return await body.ReadAsync();
        }
        catch (IOException failure)
        {
            // Of a chunk size over 31 bits the server tells otherwise than of all else that is wrong with a body.
            ClientFailure = failure.InnerException is OverflowException
                ? new BadHttpRequestException(failure.Message, StatusCodes.Status400BadRequest, failure)
                : failure;
            throw;
        }
    }
}
