using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// Connects ordinary sockets, where io_uring does not serve; their connections are those of Kestrel's Sockets
/// transport. Any thread; owned by its factory.
/// </summary>
internal sealed class SocketConnector(IoUringTransportOptions options, ILogger logger) : Connector
{
    private readonly SocketConnectionContextFactory _contexts = new(
        new SocketConnectionFactoryOptions
        {
            MaxReadBufferSize = options.MaxReadBufferSize,
            MaxWriteBufferSize = options.MaxWriteBufferSize,
            UnsafePreferInlineScheduling = options.ApplicationScheduling == ApplicationScheduling.Inline,
        },
        logger);

    internal override Func<EndPoint, CancellationToken, Task<ConnectionContext>> GetConnect() =>
        async (endPoint, cancellationToken) => _contexts.Create(await ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false));

    internal override Func<EndPoint, CancellationToken, Task<Stream>> GetConnectStream() =>
        async (endPoint, cancellationToken) =>
            new NetworkStream(await ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false), ownsSocket: true);

    public override ValueTask DisposeAsync()
    {
        _contexts.Dispose();
        return default;
    }

    private async Task<Socket> ConnectAsync(EndPoint endPoint, CancellationToken cancellationToken)
    {
        Socket socket = new(endPoint.AddressFamily, SocketType.Stream, endPoint is IPEndPoint ? ProtocolType.Tcp : ProtocolType.Unspecified);
        try
        {
            SetOptions(endPoint, socket);
            await socket.ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private void SetOptions(EndPoint endPoint, Socket socket)
    {
        if (endPoint is not IPEndPoint)
        {
            return;
        }

        socket.NoDelay = options.NoDelay;
        if (options.KeepAliveSeconds is { } seconds)
        {
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, seconds);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, seconds);
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        }
    }
}
