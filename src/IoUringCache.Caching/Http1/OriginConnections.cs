using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// Connects to origins: on the transport's event loops, and where it has none by sockets of the system. Any thread; owned by the cache.
/// </summary>
/// <param name="ring">Connects on the loops, and is disposed of with this; <see langword="null"/>: sockets are wanted.</param>
internal sealed class OriginConnections(IoUringConnectionFactory? ring) : IConnectionFactory, IAsyncDisposable
{
    private volatile bool _hasLoops = ring is not null;

    /// <inheritdoc/>
    public async ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        if (_hasLoops)
        {
            ConnectionContext connection = await ring!.ConnectAsync(endpoint, cancellationToken);
            if (connection.Features.Get<IDirectReceiveFeature>() is not null)
            {
                return connection;
            }

            // It has fallen back to Kestrel's sockets, where a reset takes with it what came before: an answer to half an upload.
            _hasLoops = false;
            await connection.DisposeAsync();
        }

        Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(endpoint, cancellationToken);
            return new SocketConnection(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public ValueTask DisposeAsync() => ring?.DisposeAsync() ?? default;
}
