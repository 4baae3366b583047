using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Benchmarks;

/// <summary>
/// One connection of the least client that can be: a blocking socket and one prepared request. One thread at a time; owned by its load.
/// </summary>
internal abstract class Exchange : IDisposable
{
    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = 10_000 };
    private readonly byte[] _request;

    protected Exchange(IPEndPoint endPoint, byte[] request)
    {
        _request = request;
        _socket.Connect(endPoint);
    }

    /// <summary>Sends the request; <see cref="ReceiveAnswer"/> is to follow.</summary>
    public void SendRequest() => _socket.Send(_request);

    /// <summary>Receives the whole answer to the last request.</summary>
    /// <returns>Its bytes.</returns>
    public abstract int ReceiveAnswer();

    public void Dispose() => _socket.Dispose();

    /// <exception cref="InvalidOperationException">The server ended the connection.</exception>
    protected int Receive(Span<byte> buffer)
    {
        int count = _socket.Receive(buffer);
        return count > 0 ? count : throw new InvalidOperationException("the server ended the connection");
    }
}
