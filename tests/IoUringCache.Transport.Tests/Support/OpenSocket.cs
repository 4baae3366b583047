using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// The server's socket of one connection, and whether its descriptor is still that socket: neither closed nor another one's by now.
/// </summary>
internal sealed class OpenSocket
{
    private readonly string _descriptor;
    private readonly string _socket;

    internal OpenSocket(ConnectionPair pair)
    {
        _descriptor = $"/proc/self/fd/{pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.Handle}";
        _socket = new FileInfo(_descriptor).LinkTarget ?? throw new InvalidOperationException("The socket is closed.");
    }

    /// <summary>The kernel's name for what is behind the descriptor, "socket:[123]", is that of the socket as long as it is open.</summary>
    internal bool IsOpen => new FileInfo(_descriptor).LinkTarget == _socket;
}
