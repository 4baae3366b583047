using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Benchmarks;

/// <summary>
/// The least client that can be: one blocking socket, one prepared request, and every answer as long as the first, which was checked
/// when the connection was made. One thread at a time.
/// </summary>
internal sealed class KeepAliveClient : IDisposable
{
    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = 10_000 };
    private readonly byte[] _request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray();
    private readonly byte[] _answer = new byte[4096];
    private int _answerLength;

    private KeepAliveClient(IPEndPoint endPoint) => _socket.Connect(endPoint);

    /// <exception cref="InvalidOperationException">The server's first answer is not 200 with <paramref name="expectedBody"/>.</exception>
    public static KeepAliveClient Connect(IPEndPoint endPoint, ReadOnlyMemory<byte> expectedBody)
    {
        KeepAliveClient client = new(endPoint);
        client.ReadFirstAnswer(expectedBody.Span);
        return client;
    }

    /// <summary>One request and its whole answer.</summary>
    /// <returns>The bytes of the answer, head and body.</returns>
    public int Get()
    {
        _socket.Send(_request);
        int received = 0;
        while (received < _answerLength)
        {
            received += Receive(received);
        }

        return received;
    }

    public void Dispose() => _socket.Dispose();

    private void ReadFirstAnswer(ReadOnlySpan<byte> expectedBody)
    {
        _socket.Send(_request);
        int headEnd;
        do
        {
            _answerLength += Receive(_answerLength);
            headEnd = _answer.AsSpan(0, _answerLength).IndexOf("\r\n\r\n"u8);
        }
        while (headEnd < 0 || _answerLength < headEnd + 4 + expectedBody.Length);

        ReadOnlySpan<byte> answer = _answer.AsSpan(0, _answerLength);
        if (!answer.StartsWith("HTTP/1.1 200 OK\r\n"u8) || !answer[(headEnd + 4)..].SequenceEqual(expectedBody))
        {
            throw new InvalidOperationException("the server's answer is not the expected one, so its speed means nothing");
        }
    }

    private int Receive(int offset)
    {
        int count = _socket.Receive(_answer.AsSpan(offset));
        return count > 0 ? count : throw new InvalidOperationException("the server ended the connection");
    }
}
