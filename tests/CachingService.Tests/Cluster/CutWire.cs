using System.Net;
using System.Net.Sockets;

namespace CachingService.Tests.Cluster;

/// <summary>A wire to a server that can be cut: connections over it end, and new ones end at once, until it is mended.</summary>
internal sealed class CutWire : IAsyncDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly List<Socket> _sockets = [];
    private readonly Lock _lock = new();
    private readonly Task _accepting;
    private bool _isCut;

    /// <param name="port">Of the server, on loopback.</param>
    public CutWire(int port)
    {
        Port = port;
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        _accepting = AcceptAsync();
    }

    /// <summary>Of the server, on loopback. It may be another one for later connections.</summary>
    public int Port { get; set; }

    public string Url => $"nats://{Address}";

    /// <summary>Host and port of the wire's near end.</summary>
    public string Address => _listener.LocalEndPoint!.ToString()!;

    public void Cut()
    {
        lock (_lock)
        {
            _isCut = true;
            _sockets.ForEach(static socket => socket.Dispose());
            _sockets.Clear();
        }
    }

    public void Mend()
    {
        lock (_lock)
        {
            _isCut = false;
        }
    }

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        Cut();
        await _accepting.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private async Task AcceptAsync()
    {
        while (true)
        {
            Socket client = await _listener.AcceptAsync();
            _ = CarryAsync(client);
        }
    }

    private async Task CarryAsync(Socket client)
    {
        Socket server = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        lock (_lock)
        {
            _sockets.AddRange([client, server]);
        }

        try
        {
            if (!Volatile.Read(ref _isCut))
            {
                await server.ConnectAsync(new IPEndPoint(IPAddress.Loopback, Port));
                await using NetworkStream one = new(client), other = new(server);
                await Task.WhenAny(one.CopyToAsync(other), other.CopyToAsync(one));
            }
        }
        catch (Exception failure) when (failure is IOException or SocketException or ObjectDisposedException)
        {
            // Cut, or the server is not there.
        }
        finally
        {
            client.Dispose();
            server.Dispose();
        }
    }
}
