using System.Net;
using System.Net.Sockets;

namespace IoUringCache.Soak;

/// <summary>One client's connection. Each of its calls has a time-out. Owned by the scenario.</summary>
internal sealed class SoakClient : IDisposable
{
    /// <summary>Connections that end in order keep a port for a minute, each address its own.</summary>
    private const int Addresses = 200;

    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(30);

    private static int s_next;

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

    private SoakClient()
    {
    }

    /// <summary>Connects and says what the server is to do.</summary>
    internal static async Task<SoakClient> ConnectAsync(int port, byte behaviour, int receiveBuffer = 0)
    {
        SoakClient client = new();
        try
        {
            if (receiveBuffer != 0)
            {
                client._socket.ReceiveBufferSize = receiveBuffer;
            }

            byte address = (byte)(1 + ((uint)Interlocked.Increment(ref s_next) % Addresses));
            using CancellationTokenSource limit = new(s_limit);
            await client._socket.ConnectAsync(new IPEndPoint(new IPAddress([127, 0, 0, address]), port), limit.Token);
            await client.SendAsync(new[] { behaviour });
            return client;
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }

    internal async Task SendAsync(ReadOnlyMemory<byte> data)
    {
        using CancellationTokenSource limit = new(s_limit);
        while (!data.IsEmpty)
        {
            data = data[await _socket.SendAsync(data, limit.Token)..];
        }
    }

    /// <summary>Sends what the kernel takes, for as long as the token allows.</summary>
    internal async Task SendUntilAsync(ReadOnlyMemory<byte> data, CancellationToken end)
    {
        while (!data.IsEmpty)
        {
            data = data[await _socket.SendAsync(data, end)..];
        }
    }

    /// <returns>The bytes received, 0 at the server's FIN.</returns>
    internal async Task<int> ReceiveAsync(Memory<byte> buffer)
    {
        using CancellationTokenSource limit = new(s_limit);
        return await _socket.ReceiveAsync(buffer, limit.Token);
    }

    /// <exception cref="SoakException">Other bytes came back.</exception>
    internal async Task ReceiveBackAsync(ReadOnlyMemory<byte> sent, byte[] buffer)
    {
        while (!sent.IsEmpty)
        {
            int count = await ReceiveAsync(buffer.AsMemory(0, Math.Min(sent.Length, buffer.Length)));
            if (count == 0 || !sent.Span.StartsWith(buffer.AsSpan(0, count)))
            {
                throw new SoakException(count == 0 ? "The server ended in the middle of an echo." : "The server echoed other bytes.");
            }

            sent = sent[count..];
        }
    }

    /// <exception cref="SoakException">The server sent another number of bytes before its FIN.</exception>
    internal async Task ReceiveToEndAsync(int expected, byte[] buffer)
    {
        int received = 0;
        int count;
        while ((count = await ReceiveAsync(buffer)) != 0)
        {
            received += count;
        }

        if (received != expected)
        {
            throw new SoakException($"The server sent {received} bytes before FIN; {expected} were expected.");
        }
    }

    internal void Finish() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Ends the connection with RST.</summary>
    internal void Reset()
    {
        _socket.LingerState = new LingerOption(true, 0);
        _socket.Dispose();
    }

    public void Dispose() => _socket.Dispose();
}
