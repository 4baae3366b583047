using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>Connects to single addresses by one back end. Any thread; owned by its factory.</summary>
internal abstract class Connector : IAsyncDisposable
{
    /// <summary>Whether it makes no connections any more, so that its owner needs another one.</summary>
    internal virtual bool HasFailed => false;

    /// <summary>
    /// Connects to an <see cref="IPEndPoint"/> or a <see cref="UnixDomainSocketEndPoint"/>, near the thread that asked
    /// for this function. A task that fails leaves nothing open; it has a <see cref="SocketException"/> where the
    /// system or the peer refuses.
    /// </summary>
    internal abstract Func<EndPoint, CancellationToken, Task<ConnectionContext>> GetConnect();

    /// <summary>The same, for a stream that owns its connection and behaves as a socket's.</summary>
    internal abstract Func<EndPoint, CancellationToken, Task<Stream>> GetConnectStream();

    public abstract ValueTask DisposeAsync();
}
