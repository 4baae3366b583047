using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring;

namespace IoUringCache.Floor;

/// <summary>
/// The least that a server on io_uring can do for a request: one multishot receive for each connection, one send for what came with a
/// completion, of bytes that were there before. Requests are counted by their empty lines and not looked at otherwise.
/// <para>
/// A measuring instrument, not a server: an empty line that comes in two pieces is not seen, and a client that does not read is waited
/// for. The thread that makes it runs it; <see cref="Stop"/> comes from any thread.
/// </para>
/// </summary>
internal sealed class FloorServer : IFloor
{
    private const int MostAtOnce = 64;
    private const int BufferCount = 1024;
    private const int BufferBytes = 4096;
    private const string Fields = "Content-Length: 2\r\nContent-Type: text/plain\r\nDate: Tue, 24 Nov 2026 00:00:00 GMT\r\n";

    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly EventDescriptor _stop = EventDescriptor.Create();
    private readonly KernelRing _ring;
    private readonly ProvidedBufferRing _buffers;
    private readonly Dictionary<int, FloorConnection> _connections = [];
    private readonly Memory<byte> _responses;
    private readonly Memory<byte> _lastResponse;
    private readonly int _responseBytes;
    private bool _isStopped;

    /// <param name="endPoint">IPv4; port 0 takes a free one.</param>
    /// <exception cref="SocketException">The address is taken.</exception>
    /// <exception cref="IoUringUnavailableException">The kernel refuses a ring; the message says why.</exception>
    public FloorServer(IPEndPoint endPoint)
    {
        _listener.Bind(endPoint);
        _listener.Listen(512);
        _ring = KernelRing.Create(new RingOptions());
        _buffers = _ring.RegisterBuffers(group: 0, BufferCount, BufferBytes);

        byte[] response = Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\r\n" + Fields + "\r\nOK");
        byte[] last = Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\r\nConnection: close\r\n" + Fields + "\r\nOK");
        _responseBytes = response.Length;
        _responses = GC.AllocateUninitializedArray<byte>(response.Length * MostAtOnce, pinned: true);
        for (int index = 0; index < MostAtOnce; index++)
        {
            response.CopyTo(_responses[(index * response.Length)..]);
        }

        _lastResponse = GC.AllocateUninitializedArray<byte>(last.Length, pinned: true);
        last.CopyTo(_lastResponse);
    }

    private enum Operation : byte
    {
        Accept = 1,
        Receive,
        Send,
        Stop,
    }

    public IPEndPoint EndPoint => (IPEndPoint)_listener.LocalEndPoint!;

    public string Description => _ring.Description;

    public void Stop() => _stop.Signal();

    public void Run()
    {
        Completion[] completions = new Completion[256];
        _ring.Submissions.PrepareReadEvent(_stop, Name(Operation.Stop));
        Accept();
        while (!_isStopped)
        {
            _ring.SubmitAndWait(1);
            int count;
            do
            {
                count = _ring.Completions.Drain(completions);
                foreach (ref readonly Completion completion in completions.AsSpan(0, count))
                {
                    Handle(completion);
                }
            }
            while (count == completions.Length);
        }
    }

    /// <summary>Ends the ring first: the kernel lets the descriptors go with their operations.</summary>
    public void Dispose()
    {
        _ring.Dispose();
        foreach (int descriptor in _connections.Keys)
        {
            SocketDescriptor.Close(descriptor);
        }

        _listener.Dispose();
        _stop.Dispose();
    }

    private static UserData Name(Operation operation, int descriptor = 0) => new((byte)operation, 0, descriptor);

    private void Accept() => _ring.Submissions.PrepareAcceptMultishot((int)_listener.Handle, Name(Operation.Accept));

    private void Handle(in Completion completion)
    {
        switch ((Operation)completion.UserData.Kind)
        {
            case Operation.Accept:
                OnAccepted(completion);
                break;
            case Operation.Receive:
                OnReceived(_connections[completion.UserData.Slot], completion);
                break;
            case Operation.Send:
                OnSent(_connections[completion.UserData.Slot], completion);
                break;
            default:
                _isStopped = true;
                break;
        }
    }

    private void OnAccepted(in Completion completion)
    {
        if (!completion.IsError)
        {
            SocketDescriptor.SetNoDelay(completion.Result, true);
            FloorConnection connection = new(completion.Result);
            _connections.Add(completion.Result, connection);
            Receive(connection);
        }

        if (!completion.HasMore)
        {
            Accept();
        }
    }

    private void Receive(FloorConnection connection)
    {
        connection.IsReceiving = true;
        _ring.Submissions.PrepareReceiveMultishot(connection.Descriptor, _buffers.Group, Name(Operation.Receive, connection.Descriptor));
    }

    private void OnReceived(FloorConnection connection, in Completion completion)
    {
        connection.IsReceiving = completion.HasMore;
        if (completion.HasBuffer)
        {
            ReadOnlySpan<byte> received = _buffers.Acquire(completion.BufferId).Span[..Math.Max(0, completion.Result)];
            connection.Owed += received.Count("\r\n\r\n"u8);
            connection.IsLast |= received.IndexOf("Connection: close"u8) >= 0;
            _buffers.Release(completion.BufferId);
            Send(connection);
        }

        if (completion.HasMore)
        {
            return;
        }

        if (completion.Result > 0 || completion.Error == Errno.ENOBUFS)
        {
            Receive(connection);
        }
        else
        {
            connection.Owed = 0; // The client has gone.
            CloseIfIdle(connection);
        }
    }

    private void Send(FloorConnection connection)
    {
        if (connection.Owed == 0 || connection.IsSending)
        {
            return;
        }

        // All but the last response of a connection are alike.
        bool isLast = connection.IsLast && connection.Owed == 1;
        int count = Math.Min(connection.IsLast && !isLast ? connection.Owed - 1 : connection.Owed, MostAtOnce);
        connection.Owed -= count;
        connection.IsSending = true;
        _ring.Submissions.PrepareSend(
            connection.Descriptor, isLast ? _lastResponse : _responses[..(count * _responseBytes)], Name(Operation.Send, connection.Descriptor));
    }

    private void OnSent(FloorConnection connection, in Completion completion)
    {
        connection.IsSending = false;
        if (completion.IsError)
        {
            connection.Owed = 0;
        }
        else if (connection.IsLast && connection.Owed == 0)
        {
            // The client's own end, which comes next, ends the receive.
            SocketDescriptor.ShutdownSend(connection.Descriptor);
        }

        Send(connection);
        CloseIfIdle(connection);
    }

    private void CloseIfIdle(FloorConnection connection)
    {
        if (!connection.IsReceiving && !connection.IsSending)
        {
            _connections.Remove(connection.Descriptor);
            SocketDescriptor.Close(connection.Descriptor);
        }
    }
}
