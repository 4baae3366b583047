using System.Net;
using System.Net.Sockets;
using System.Reflection;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Tests.Faults;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// A bound listener of one transport, without Kestrel: the test plays Kestrel's part. Options are given once, as those of the io_uring
/// transport, and mapped for Sockets.
/// </summary>
internal sealed class TransportServer : IAsyncDisposable
{
    private const string FinOnErrorSwitch = "Microsoft.AspNetCore.Server.Kestrel.FinOnError";

    private readonly Action? _cleanUp;

    private TransportServer(IConnectionListener listener, IConnectionListenerFactory factory, LogRecorder log, TestMemoryPoolFactory pools, Action? cleanUp)
    {
        Listener = listener;
        Factory = factory;
        Log = log;
        Pools = pools;
        _cleanUp = cleanUp;
    }

    internal IConnectionListener Listener { get; }

    internal IConnectionListenerFactory Factory { get; }

    internal LogRecorder Log { get; }

    internal TestMemoryPoolFactory Pools { get; }

    internal EndPoint EndPoint => Listener.EndPoint;

    internal static async Task<TransportServer> StartAsync(
        TransportKind kind = TransportKind.ThreadPool,
        Action<IoUringTransportOptions>? configure = null,
        EndPoint? endPoint = null,
        LogLevel minimumLevel = LogLevel.Debug,
        ILoggerFactory? logs = null,
        FaultKernel? kernel = null,
        bool? finOnError = null)
    {
        LogRecorder log = new(minimumLevel);
        TestMemoryPoolFactory pools = new();
        IConnectionListenerFactory factory = CreateFactory(kind, configure, logs ?? log, pools, kernel, finOnError);
        endPoint ??= new IPEndPoint(IPAddress.Loopback, 0);
        IConnectionListener listener = await factory.BindAsync(endPoint).InTime();
        return new TransportServer(
            listener, factory, log, pools, IsUnixPath(endPoint) ? () => File.Delete(endPoint.ToString()!) : null);
    }

    /// <summary>A server under Kestrel's switch that ends failed connections with FIN, as it did before .NET 8.</summary>
    internal static async Task<TransportServer> StartWithFinOnErrorAsync(TransportKind kind)
    {
        AppContext.SetSwitch(FinOnErrorSwitch, true);
        try
        {
            return await StartAsync(kind);
        }
        finally
        {
            AppContext.SetSwitch(FinOnErrorSwitch, false);
        }
    }

    internal static IConnectionListenerFactory CreateFactory(
        TransportKind kind,
        Action<IoUringTransportOptions>? configure,
        ILoggerFactory log,
        TestMemoryPoolFactory pools,
        FaultKernel? kernel = null,
        bool? finOnError = null)
    {
        IoUringTransportOptions options = new()
        {
            Backend = TransportBackend.IoUring,
            ApplicationScheduling = Transports.SchedulingOf(kind),
        };
        configure?.Invoke(options);
        SocketTransportOptions sockets = new()
        {
            Backlog = options.Backlog,
            NoDelay = options.NoDelay,
            MaxReadBufferSize = options.MaxReadBufferSize,
            MaxWriteBufferSize = options.MaxWriteBufferSize,
            CreateBoundListenSocket = options.CreateBoundListenSocket,
        };

        // Kestrel reads the switch once in a process; the property is internal.
        finOnError ??= AppContext.TryGetSwitch(FinOnErrorSwitch, out bool isOn) && isOn;
        typeof(SocketTransportOptions).GetProperty("FinOnError", BindingFlags.Instance | BindingFlags.NonPublic)!.SetValue(sockets, finOnError);
        if (kind == TransportKind.Sockets)
        {
            return new SocketTransportFactory(Options.Create(sockets), log);
        }

        IoUringRequirement.Check();
        return new IoUringTransportFactory(Options.Create(options), Options.Create(sockets), pools, log, new IoUringTransportInfo())
        {
            AcquireLoops = kernel is null ? IoUringTransportFactory.AcquireLoopsAsync : kernel.AcquireLoopsAsync,
        };
    }

    /// <summary>A Unix socket path nobody else uses.</summary>
    internal static UnixDomainSocketEndPoint NewUnixEndPoint() =>
        new(Path.Combine(Path.GetTempPath(), $"transport-{Guid.NewGuid():N}.sock"));

    /// <summary>An abstract name, which begins with NUL and is shown with '@', is no file.</summary>
    private static bool IsUnixPath(EndPoint endPoint) =>
        endPoint is UnixDomainSocketEndPoint && !endPoint.ToString()!.StartsWith('@');

    /// <summary>Takes a connection, and goes on off the loop: what a test does with it must not keep the loop from its work.</summary>
    internal async Task<ConnectionContext?> AcceptAsync()
    {
        ConnectionContext? connection = await Listener.AcceptAsync().InTime();
        await Task.Yield();
        return connection;
    }

    /// <summary>A client that is connected, or waits in the listen queue; <paramref name="configure"/> runs before it connects.</summary>
    internal async Task<Socket> ConnectClientAsync(Action<Socket>? configure = null, EndPoint? to = null)
    {
        to ??= EndPoint;
        Socket client = to is UnixDomainSocketEndPoint
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(to.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        configure?.Invoke(client);
        await client.ConnectAsync(to).InTime();
        return client;
    }

    /// <summary>Both ends of a new connection. Only where no other connection is being accepted.</summary>
    internal async Task<ConnectionPair> ConnectAsync(Action<Socket>? configure = null, EndPoint? to = null)
    {
        Socket client = await ConnectClientAsync(configure, to);
        return new ConnectionPair(client, await AcceptAsync() ?? throw new InvalidOperationException("The listener is unbound."));
    }

    /// <summary>Serves every connection with the same code until the listener is unbound; ends when all connections have.</summary>
    internal async Task ServeAsync(Func<ConnectionContext, Task> serve)
    {
        List<Task> connections = [];
        while (await Listener.AcceptAsync() is { } connection)
        {
            connections.Add(Task.Run(() => serve(connection)));
        }

        await Task.WhenAll(connections);
    }

    public async ValueTask DisposeAsync()
    {
        await Listener.UnbindAsync().InTime();
        await Listener.DisposeAsync().InTime();
        _cleanUp?.Invoke();
    }
}
