using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// An origin that speaks HTTP/2 over TLS frame by frame, as its script says. It opens no window: what clients send beyond 65,535 bytes waits.
/// </summary>
internal sealed class FrameOrigin : IAsyncDisposable
{
    private readonly ConcurrentQueue<FrameStream> _streams = new();
    private readonly ConcurrentBag<FrameConnection> _connections = [];
    private readonly ConcurrentBag<Task> _tasks = [];
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly X509Certificate2 _certificate;
    private readonly Func<FrameStream, Task> _script;
    private readonly Task _accepting;

    /// <param name="certificate">Its certificate, with the key.</param>
    /// <param name="script">What it does with each request; several at a time.</param>
    public FrameOrigin(X509Certificate2 certificate, Func<FrameStream, Task> script)
    {
        (_certificate, _script) = (certificate, script);
        _listener.Start();
        _accepting = AcceptAsync();
    }

    public string Url => $"https://{_listener.LocalEndpoint}";

    public int Connections => _connections.Count;

    /// <summary>Requests so far, in their order.</summary>
    public IReadOnlyList<FrameStream> Streams => [.. _streams];

    public async ValueTask DisposeAsync()
    {
        _listener.Stop();
        await _accepting.WaitAsync(Patience.Limit);
        foreach (FrameConnection connection in _connections)
        {
            connection.Close();
        }

        await Task.WhenAll(_tasks).WaitAsync(Patience.Limit);
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                FrameConnection connection = new(await _listener.AcceptSocketAsync());
                _connections.Add(connection);
                _tasks.Add(ServeAsync(connection));
            }
        }
        catch (Exception end) when (end is SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task ServeAsync(FrameConnection connection)
    {
        try
        {
            await connection.OpenAsync(_certificate);
            while (true)
            {
                if (await connection.ReadRequestAsync() is { } stream)
                {
                    stream.Number = _streams.Count + 1;
                    _streams.Enqueue(stream);
                    _tasks.Add(RunAsync(stream));
                }
            }
        }
        catch (Exception end) when (end is IOException or ObjectDisposedException)
        {
            // The service or the script has closed the connection.
        }
        finally
        {
            connection.Close();
        }
    }

    private async Task RunAsync(FrameStream stream)
    {
        try
        {
            await _script(stream);
        }
        catch (Exception end) when (end is IOException or ObjectDisposedException)
        {
            // Closed meanwhile.
        }
    }
}

/// <summary>One connection of such an origin. Frames are read by one task and written by any.</summary>
internal sealed class FrameConnection(Socket socket)
{
    private const int HeaderBytes = 9;
    private const int PrefaceBytes = 24;

    private readonly SslStream _tls = new(new NetworkStream(socket, ownsSocket: true));
    private readonly SemaphoreSlim _writing = new(1);
    private readonly Dictionary<int, FrameStream> _streams = [];

    public async Task OpenAsync(X509Certificate2 certificate)
    {
        await _tls.AuthenticateAsServerAsync(
            new SslServerAuthenticationOptions { ServerCertificate = certificate, ApplicationProtocols = [SslApplicationProtocol.Http2] }, default);
        await _tls.ReadExactlyAsync(new byte[PrefaceBytes]);
        await SendAsync(FrameType.Settings, 0, 0, []);
    }

    /// <summary>Reads one frame, and says if it begins a request.</summary>
    public async Task<FrameStream?> ReadRequestAsync()
    {
        byte[] header = new byte[HeaderBytes];
        await _tls.ReadExactlyAsync(header);
        byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
        await _tls.ReadExactlyAsync(payload);
        (FrameType type, byte flags, int id) = ((FrameType)header[3], header[4], BinaryPrimitives.ReadInt32BigEndian(header.AsSpan(5)));
        bool isEnd = (flags & FrameStream.EndStream) != 0;
        switch (type)
        {
            case FrameType.Settings when flags == 0:
                await SendAsync(FrameType.Settings, 1, 0, []);
                break;
            case FrameType.Ping when flags == 0:
                await SendAsync(FrameType.Ping, 1, 0, payload);
                break;
            case FrameType.Headers:
                FrameStream stream = new(this, id, HeaderBlock.Decode(payload));
                _streams[id] = stream;
                stream.Received([], isEnd);
                return stream;
            case FrameType.Data:
                _streams[id].Received(payload, isEnd);
                break;
            case FrameType.Reset:
                _streams[id].WasReset(BinaryPrimitives.ReadInt32BigEndian(payload));
                break;
        }

        return null;
    }

    public async Task SendAsync(FrameType type, byte flags, int stream, byte[] payload)
    {
        byte[] frame = new byte[HeaderBytes + payload.Length];
        BinaryPrimitives.WriteInt32BigEndian(frame, (payload.Length << 8) | (byte)type);
        frame[4] = flags;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), stream);
        payload.CopyTo(frame, HeaderBytes);
        await _writing.WaitAsync();
        try
        {
            await _tls.WriteAsync(frame).AsTask().WaitAsync(Patience.Limit);
        }
        finally
        {
            _writing.Release();
        }
    }

    /// <summary>RST.</summary>
    public void Close() => socket.Close(timeout: 0);
}

internal enum FrameType : byte
{
    Data = 0,
    Headers = 1,
    Reset = 3,
    Settings = 4,
    Ping = 6,
    GoAway = 7,
}
