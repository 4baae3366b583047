using System.IO.Pipelines;
using System.Net;

namespace CachingService.Origins;

/// <summary>
/// A client's body on its way to the origin. The HTTP stack leaves the copying alone when a request fails, but the server must not get
/// its request back while somebody reads it: dispose asynchronously before the handler ends. One request's.
/// </summary>
internal sealed class ClientBody(PipeReader body) : HttpContent, IAsyncDisposable
{
    private Task _copying = Task.CompletedTask;

    /// <summary>What the client's side did wrong, if that is why the copying ended: reset, broken framing, over a limit.</summary>
    public Exception? ClientFailure { get; private set; }

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

    /// <summary>The client's Content-Length, where it gave one, is among the fields.</summary>
    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }

    private async Task CopyAsync(Stream origin, CancellationToken cancellationToken)
    {
        while (await ReadAsync() is { IsCanceled: false } read)
        {
            try
            {
                foreach (ReadOnlyMemory<byte> piece in read.Buffer)
                {
                    await origin.WriteAsync(piece, cancellationToken);
                }

                // Else a client that pauses would keep its request, headers included, in a buffer.
                await origin.FlushAsync(cancellationToken);
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

    private async ValueTask<ReadResult> ReadAsync()
    {
        try
        {
            return await body.ReadAsync();
        }
        catch (IOException failure)
        {
            ClientFailure = failure;
            throw;
        }
    }
}
