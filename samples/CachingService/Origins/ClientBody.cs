using System.Net;

namespace CachingService.Origins;

/// <summary>
/// A client's body on its way to the origin. The HTTP stack leaves the copying alone when a request fails, but the server must not get
/// its request back while somebody reads it: dispose asynchronously before the handler ends. One request's.
/// </summary>
internal sealed class ClientBody(Stream body) : HttpContent, IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private Task _copying = Task.CompletedTask;

    /// <summary>What the client's side did wrong, if that is why the copying ended: reset, broken framing, over a limit.</summary>
    public Exception? ClientFailure { get; private set; }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _copying.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _stop.Dispose();
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
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        var buffer = new byte[16 * 1024];
        while (await ReadAsync(buffer, either.Token) is var count and > 0)
        {
            await origin.WriteAsync(buffer.AsMemory(0, count), either.Token);

            // Else a client that pauses would keep its request, headers included, in a buffer.
            await origin.FlushAsync(either.Token);
        }
    }

    private async ValueTask<int> ReadAsync(byte[] buffer, CancellationToken cancellationToken)
    {
        try
        {
            return await body.ReadAsync(buffer, cancellationToken);
        }
        catch (IOException failure)
        {
            ClientFailure = failure;
            throw;
        }
    }
}
