using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Connecting;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Connects that fail, pass by, or cannot be cancelled.</summary>
public sealed class ConnectFaultTests
{
    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.ECANCELED, Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS, Errno.EALREADY];

    private static readonly Errno[] s_afterAPause = [Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS, Errno.EALREADY];

    private static readonly (Errno Error, SocketError Expected)[] s_final =
    [
        (Errno.ECONNREFUSED, SocketError.ConnectionRefused),
        (Errno.ETIMEDOUT, SocketError.TimedOut),
        (Errno.ENETUNREACH, SocketError.NetworkUnreachable),
        (Errno.EHOSTUNREACH, SocketError.HostUnreachable),
        (Errno.EADDRNOTAVAIL, SocketError.AddressNotAvailable),
        (Errno.ECONNRESET, SocketError.ConnectionReset),
        (Errno.EPERM, SocketError.AccessDenied),
        (Errno.EIO, SocketError.SocketError),
    ];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> AfterAPause => Transports.IoUringWith(s_afterAPause);

    public static TheoryData<TransportKind, (Errno Error, SocketError Expected)> Final => Transports.IoUringWith(s_final);

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Connect_PassingError_IsTriedAgain(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        Fault fault = kernel.Inject(OperationKind.Connect, error, times: 3);

        await using ConnectionPair pair = await peer.ConnectAsync();

        await fault.SpentAsync();
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(AfterAPause))]
    public async Task Connect_ErrorForAWhile_IsNotTriedInAHurry(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        Fault fault = kernel.Inject(OperationKind.Connect, error, int.MaxValue);
        Task<ConnectionPair> connecting = peer.ConnectAsync();

        await fault.AssertNotInAHurryAsync();

        await using ConnectionPair pair = await connecting;
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connect_CancelledInAPause_EndsAtOnce(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        Fault fault = kernel.Inject(OperationKind.Connect, Errno.ENOMEM, int.MaxValue);
        using CancellationTokenSource source = new();
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync(cancellationToken: source.Token);
        await Deadline.UntilAsync(() => fault.StrikeCount > 0, () => "It did not strike.");

        await source.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connecting);
        fault.End();
        await using ConnectionPair pair = await peer.ConnectAsync();
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(Final))]
    public async Task Connect_FinalError_IsThatOfASocketAndClosesIt(TransportKind kind, (Errno Error, SocketError Expected) fault)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        await using ConnectionPair before = await peer.ConnectAsync();
        int descriptors = ProcessState.DescriptorCount;
        kernel.Inject(OperationKind.Connect, fault.Error);

        SocketException failure = await Assert.ThrowsAsync<SocketException>(() => peer.ConnectOnlyAsync());

        Assert.Equal(fault.Expected, failure.SocketErrorCode);
        Assert.True(ProcessState.DescriptorCount <= descriptors);
        await before.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connect_IsConnectedAlready_IsAConnection(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, kernel: kernel);
        kernel.Inject(OperationKind.Connect, Errno.EISCONN);

        // Nothing has connected it in truth, so its first receive says so.
        ConnectionContext connection = await peer.ConnectOnlyAsync();

        await Assert.ThrowsAsync<IOException>(() => connection.Transport.Input.ReadAsync().InTime());
        await connection.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Cancel_IsRefused_IsTriedAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0, kernel: kernel);
        using Socket first = await peer.FillBacklogAsync();
        Fault connects = kernel.Watch(OperationKind.Connect);
        using CancellationTokenSource source = new();
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync(cancellationToken: source.Token);
        await Deadline.UntilAsync(() => connects.StrikeCount > 0, () => "It did not begin.");
        Fault refusals = kernel.Inject(OperationKind.Cancel, Errno.EALREADY, times: 3);

        await source.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connecting);
        await refusals.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_BreaksWhileConnecting_ConnectSaysWhyAndTheNextGetsNewLoops(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0, kernel: kernel);
        Socket first = await peer.FillBacklogAsync();
        Fault connects = kernel.Watch(OperationKind.Connect);
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync();
        await Deadline.UntilAsync(() => connects.StrikeCount > 0, () => "It did not begin.");
        kernel.OnEnter = _ => FaultKernel.Failure(Errno.EBADR);
        Task<ConnectionContext> second = peer.ConnectOnlyAsync(); // Wakes the loop.

        Assert.IsType<IoUringException>((await Assert.ThrowsAsync<IOException>(() => connecting)).InnerException);
        await Assert.ThrowsAsync<IOException>(() => second);

        kernel.OnEnter = _ => null;
        first.Dispose();
        (await peer.AcceptAsync()).Dispose();
        await using ConnectionPair pair = await peer.ConnectAsync();
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_BreaksUnderServerAndFactory_IsLoggedOnce(TransportKind kind)
    {
        const int LoopFailed = 21;
        using FaultKernel kernel = new();
        using LogRecorder log = new();
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddProvider(log).SetMinimumLevel(LogLevel.Debug));
        TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = 1, logs: loggers, kernel: kernel);
        await using IoUringConnectionFactory factory = new(OutgoingPeer.OptionsOf(kind), loggers) { AcquireLoops = kernel.AcquireLoopsAsync };
        ConnectionContext connection = await factory.ConnectAsync(server.EndPoint).InTime();
        await Task.Yield();
        kernel.OnEnter = _ => FaultKernel.Failure(Errno.EBADR);

        await connection.Transport.Output.WriteAsync("abc"u8.ToArray()).InTime();
        await Assert.ThrowsAsync<IoUringException>(connection.Transport.Input.TakeToEndAsync);

        Assert.Single(log.Entries, entry => entry.Id.Id == LoopFailed);
        await connection.DisposeAsync().InTime();
        await server.DisposeAsync().InTime();
    }
}
