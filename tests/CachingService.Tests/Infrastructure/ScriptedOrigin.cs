using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// An origin on a raw socket that does as its script says: pace, stall, reset, short and endless bodies, bad framing. Every request is
/// kept with its exact bytes; connections stay open as long as the script lets them.
/// </summary>
internal sealed class ScriptedOrigin : IAsyncDisposable
{
    private readonly ConcurrentQueue<OriginExchange> _exchanges = new();
    private readonly ConcurrentBag<Socket> _sockets = [];
    private readonly ConcurrentBag<Task> _connections = [];
    private readonly Func<OriginExchange, Task> _script;

    /// <summary>Keeps the port for this origin while it does not listen.</summary>
    private readonly Socket _port;

    private Socket? _listener;
    private Task _accepting = Task.CompletedTask;
    private int _count;

    /// <param name="script">What it does with each request.</param>
    /// <param name="port">Of 127.0.0.1; 0 for any that is free.</param>
    /// <param name="isListening">False: connections are refused until <see cref="Listen"/>, on a port that is taken all the same.</param>
    public ScriptedOrigin(Func<OriginExchange, Task> script, int port = 0, bool isListening = true)
    {
        _script = script;
        _port = Bind(port);
        Url = $"http://{_port.LocalEndPoint}";
        if (isListening)
        {
            Listen();
        }
    }

    public string Url { get; }

    public int RequestCount => Volatile.Read(ref _count);

    /// <summary>Connections whose end a script has waited for and seen.</summary>
    public int ClosedByService => _exchanges.Count(exchange => exchange.IsClosedByService);

    public IReadOnlyList<OriginExchange> Exchanges => [.. _exchanges];

    /// <summary>Takes connections from now on.</summary>
    public void Listen()
    {
        _listener = Bind(((IPEndPoint)_port.LocalEndPoint!).Port);
        _listener.Listen(512);
        _accepting = AcceptAsync(_listener);
    }

    /// <summary>Connections are refused from now on; those that are there go on.</summary>
    public void StopListening()
    {
        // Not only closed: a child process that another test starts just then has it open as well, until it runs its program.
        _listener?.Shutdown(SocketShutdown.Both);
        _listener?.Dispose();
        _listener = null;
    }

    public async ValueTask DisposeAsync()
    {
        StopListening();
        _port.Dispose();

        // First, because it may just be taking another connection.
        await _accepting.WaitAsync(Patience.Limit);
        foreach (Socket socket in _sockets)
        {
            socket.Dispose();
        }

        await Task.WhenAll(_connections).WaitAsync(Patience.Limit);
    }

    private static Socket Bind(int port)
    {
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, port));
        return socket;
    }

    private async Task AcceptAsync(Socket listener)
    {
        try
        {
            while (true)
            {
                Socket socket = await listener.AcceptAsync();
                _sockets.Add(socket);
                _connections.Add(ServeAsync(socket));
            }
        }
        catch (Exception end) when (end is SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task ServeAsync(Socket socket)
    {
        try
        {
            for (bool isFirst = true; await ReadHeadAsync(socket) is { } head; isFirst = false)
            {
                OriginExchange exchange = new(socket, head, Interlocked.Increment(ref _count), isFirst);
                _exchanges.Enqueue(exchange);
                await _script(exchange);
            }
        }
        catch (Exception end) when (end is SocketException or ObjectDisposedException)
        {
            // The service or the script has closed the connection.
        }
        finally
        {
            socket.Dispose();
        }
    }

    private static async Task<string?> ReadHeadAsync(Socket socket)
    {
        StringBuilder head = new();
        byte[] one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            if (await socket.ReceiveAsync(one, SocketFlags.None) == 0)
            {
                return null;
            }

            head.Append((char)one[0]);
        }

        return head.ToString();
    }
}
