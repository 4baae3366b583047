using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>
/// A listening socket, and the factory that connects to it. The pairs are those of a server with the roles swapped: the peer's socket is
/// the client's, and the factory's connection is the server's.
/// </summary>
internal sealed class OutgoingPeer : IAsyncDisposable
{
    private readonly Socket _listener;

    private OutgoingPeer(Socket listener, IoUringConnectionFactory factory, LogRecorder log)
    {
        _listener = listener;
        Factory = factory;
        Log = log;
    }

    internal IoUringConnectionFactory Factory { get; }

    internal LogRecorder Log { get; }

    internal EndPoint EndPoint => _listener.LocalEndPoint!;

    internal int Port => ((IPEndPoint)EndPoint).Port;

    /// <param name="backlog">Length of the listen queue; 0 for one connection, and then further clients get no answer.</param>
    internal static OutgoingPeer Start(
        TransportKind kind,
        Action<IoUringTransportOptions>? configure = null,
        EndPoint? endPoint = null,
        int backlog = 512,
        FaultKernel? kernel = null,
        Func<string, AddressFamily, CancellationToken, Task<IPAddress[]>>? resolve = null,
        TimeProvider? time = null)
    {
        LogRecorder log = new();
        endPoint ??= new IPEndPoint(IPAddress.Loopback, 0);
        Socket listener = new(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(endPoint);
        listener.Listen(backlog);
        return new OutgoingPeer(listener, CreateFactory(kind, configure, log, kernel, resolve, time), log);
    }

    internal static IoUringConnectionFactory CreateFactory(
        TransportKind kind,
        Action<IoUringTransportOptions>? configure = null,
        LogRecorder? log = null,
        FaultKernel? kernel = null,
        Func<string, AddressFamily, CancellationToken, Task<IPAddress[]>>? resolve = null,
        TimeProvider? time = null)
    {
        IoUringTransportOptions options = OptionsOf(kind);
        configure?.Invoke(options);
        return new IoUringConnectionFactory(options, log)
        {
            AcquireLoops = kernel is null ? Internal.Hosting.IoUringTransportFactory.AcquireLoopsAsync : kernel.AcquireLoopsAsync,
            Resolve = resolve ?? Dns.GetHostAddressesAsync,
            Time = time ?? TimeProvider.System,
        };
    }

    internal static IoUringTransportOptions OptionsOf(TransportKind kind)
    {
        if (kind != TransportKind.Sockets)
        {
            IoUringRequirement.Check();
        }

        return new IoUringTransportOptions
        {
            Backend = kind == TransportKind.Sockets ? TransportBackend.Sockets : TransportBackend.IoUring,
            ApplicationScheduling = Transports.SchedulingOf(kind),
            LoopCount = 1,
        };
    }

    /// <summary>A resolver that knows every name by these addresses.</summary>
    internal static Func<string, AddressFamily, CancellationToken, Task<IPAddress[]>> Names(params IPAddress[] addresses) =>
        (_, _, _) => Task.FromResult(addresses);

    /// <summary>Connects, and goes on off the loop: what a test does must not keep the loop from its work.</summary>
    internal async Task<ConnectionContext> ConnectOnlyAsync(EndPoint? to = null, CancellationToken cancellationToken = default)
    {
        ConnectionContext connection = await Factory.ConnectAsync(to ?? EndPoint, cancellationToken).InTime();
        await Task.Yield();
        return connection;
    }

    internal async Task<Socket> AcceptAsync() => await _listener.AcceptAsync().InTime();

    /// <summary>Both ends of a new connection.</summary>
    internal async Task<ConnectionPair> ConnectAsync(EndPoint? to = null)
    {
        ConnectionContext connection = await ConnectOnlyAsync(to);
        return new ConnectionPair(await AcceptAsync(), connection);
    }

    /// <summary>Takes the one place of the listen queue, so that the next client gets no answer.</summary>
    internal async Task<Socket> FillBacklogAsync()
    {
        Socket first = new(_listener.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await first.ConnectAsync(EndPoint).InTime();
        return first;
    }

    /// <summary>Nobody listens there any more.</summary>
    internal EndPoint StopListening()
    {
        EndPoint endPoint = EndPoint;
        _listener.Dispose();
        return endPoint;
    }

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        await Factory.DisposeAsync().InTime();
    }
}
