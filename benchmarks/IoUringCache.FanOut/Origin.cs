using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring;

namespace IoUringCache.FanOut;

/// <summary>
/// The origin: answers the first request with an endless chunked body, one chunk at each tick, and counts the requests. Its operations are
/// on the ring of the load, and so on its one thread.
/// </summary>
internal sealed class Origin : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly StringBuilder _request = new();
    private readonly Pattern _pattern;
    private readonly byte[] _head;
    private readonly byte[] _frame;
    private readonly byte[] _last = Pinned("0\r\n\r\n");
    private readonly int _chunkStart;
    private ReadOnlyMemory<byte> _sending;
    private int _socket = -1;
    private long _number;
    private bool _hasAnswered;
    private bool _isEnding;

    internal Origin(int port, Pattern pattern)
    {
        _pattern = pattern;
        // With a Date, without which Squid takes the answer for stale at once and asks again.
        _head = Pinned($"HTTP/1.1 200 OK\r\nDate: {DateTimeOffset.UtcNow:r}\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: chunked\r\n\r\n");
        string size = pattern.ChunkBytes.ToString("x", CultureInfo.InvariantCulture) + "\r\n";
        _frame = Pinned(size + new string('\n', pattern.ChunkBytes) + "\r\n");
        _chunkStart = size.Length;
        _listener.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, port));
        _listener.Listen();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    internal int ListenDescriptor => (int)_listener.Handle;

    internal int RequestCount { get; private set; }

    /// <summary>Chunks written.</summary>
    internal long WrittenCount => _number;

    /// <summary>Whether the body has begun, and its end has not been asked for.</summary>
    internal bool IsWriting => _hasAnswered && !_isEnding;

    /// <summary>A piece of what came from the service; the requests have no bodies.</summary>
    internal void OnReceived(KernelRing ring, int socket, ReadOnlySpan<byte> data)
    {
        _request.Append(Encoding.Latin1.GetString(data));
        while (_request.ToString().IndexOf("\r\n\r\n", StringComparison.Ordinal) is var end and >= 0)
        {
            _request.Remove(0, end + 4);
            RequestCount++;
            if (RequestCount == 1)
            {
                SocketDescriptor.SetNoDelay(socket, true);
                _socket = socket;
                _hasAnswered = true;
                Send(ring, _head);
            }
        }
    }

    /// <summary>Writes the next chunk; false while the one before it is still on its way.</summary>
    internal bool TryWrite(KernelRing ring)
    {
        if (!_sending.IsEmpty)
        {
            return false;
        }

        _pattern.Write(_frame.AsSpan(_chunkStart, _pattern.ChunkBytes), _number++, Stopwatch.GetTimestamp());
        Send(ring, _frame);
        return true;
    }

    /// <summary>Ends the body in order; with the send in flight, or at once.</summary>
    internal void End(KernelRing ring)
    {
        _isEnding = true;
        if (_sending.IsEmpty)
        {
            Send(ring, _last);
        }
    }

    internal void OnSent(KernelRing ring, in Completion completion)
    {
        if (completion.Result != _sending.Length)
        {
            throw new FanOutException($"The service has left its origin: {completion.Error}.");
        }

        bool wasLast = _sending.Length == _last.Length;
        _sending = default;
        if (_isEnding && !wasLast)
        {
            Send(ring, _last);
        }
    }

    public void Dispose() => _listener.Dispose();

    private void Send(KernelRing ring, byte[] pinned)
    {
        _sending = pinned;
        ring.Submissions.PrepareSend(_socket, pinned, new UserData((byte)OperationKind.OriginSend, 0, 0));
    }

    private static byte[] Pinned(string latin1)
    {
        byte[] pinned = GC.AllocateArray<byte>(latin1.Length, pinned: true);
        Encoding.Latin1.GetBytes(latin1, pinned);
        return pinned;
    }
}
