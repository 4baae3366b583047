using System.Net.Sockets;
using IoUringCache.Transport.Internal.Connecting;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging.Abstractions;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>Outgoing connections and their loops: shared, preferred, and given back.</summary>
public sealed class OutgoingLoopTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connections_TenThousandShortOnes_GiveEverythingBack(TransportKind kind)
    {
        const int Count = 10_000;
        const int AtOnce = 20;
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using (ConnectionPair first = await peer.ConnectAsync())
        {
            await first.AssertWorksAsync();
        }

        EventLoopGroup loops = await EventLoopGroup.AcquireAsync(EventLoopSettings.From(OutgoingPeer.OptionsOf(kind))).InTime();
        await Deadline.UntilAsync(() => loops.Usage == default, () => $"{loops.Usage} is in use.");
        int descriptors = ProcessState.DescriptorCount;
        Task serving = ServeAsync();
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => Task.Run(async () =>
        {
            for (int i = 0; i < Count / AtOnce; i++)
            {
                ConnectionContext connection = await peer.ConnectOnlyAsync();
                await connection.Transport.Output.WriteAsync("x"u8.ToArray()).InTime();
                Assert.Equal("x"u8.ToArray(), await connection.Transport.Input.TakeAsync(1));
                await connection.DisposeAsync().InTime();
            }
        }))).WaitAsync(Deadline.Limit * 8);
        await serving.InTime();

        await Deadline.UntilAsync(() => loops.Usage == default, () => $"{loops.Usage} is in use.");
        await Deadline.UntilAsync(
            () => ProcessState.DescriptorCount <= descriptors, () => $"{ProcessState.DescriptorCount} descriptors are open, {descriptors} were before.");
        await loops.ReleaseAsync().InTime();

        async Task ServeAsync()
        {
            List<Task> echoes = [];
            for (int i = 0; i < Count; i++)
            {
                echoes.Add(EchoOnceAsync(await peer.AcceptAsync()));
            }

            await Task.WhenAll(echoes);
        }

        static async Task EchoOnceAsync(Socket socket)
        {
            using (socket)
            {
                await socket.SendAllAsync(await socket.ReceiveExactlyAsync(1));
                Assert.Empty(await socket.ReceiveToEndAsync());
            }
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loops_OfAServerWithEqualOptions_AreShared(TransportKind kind)
    {
        await ProcessState.LoopsEndedAsync();
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = 2);
        await using (IoUringConnectionFactory factory = OutgoingPeer.CreateFactory(kind, options => options.LoopCount = 2))
        {
            ConnectionContext outgoing = await factory.ConnectAsync(server.EndPoint).InTime();
            await Task.Yield();
            ConnectionContext incoming = (await server.AcceptAsync())!;
            Assert.Equal(2, ProcessState.LoopThreadCount);
            await outgoing.DisposeAsync().InTime();
            await incoming.DisposeAsync().InTime();
        }

        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_OfTheLastFactory_ResetsConnectionsAndEndsTheLoops(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        ConnectionPair pair = await peer.ConnectAsync();

        await peer.Factory.DisposeAsync().InTime();

        await pair.Client.AssertResetAsync();
        await pair.DisposeAsync();
        await ProcessState.LoopsEndedAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connect_FromAHandlerOfALoop_GetsThatLoop(TransportKind kind)
    {
        const int Loops = 4;
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = Loops);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, options => options.LoopCount = Loops);
        await using (ConnectionPair first = await peer.ConnectAsync())
        {
            await first.AssertWorksAsync();
        }

        for (int i = 0; i < Loops + 1; i++)
        {
            await using ConnectionPair incoming = await server.ConnectAsync();
            Task<ConnectionContext> connecting = ConnectFromHandlerAsync(incoming.Server);
            await incoming.Client.SendAllAsync("x"u8.ToArray());
            await using ConnectionPair outgoing = new(await peer.AcceptAsync(), await connecting.InTime());
            await Task.Yield();

            Assert.Same(SchedulerOf(incoming.Server), SchedulerOf(outgoing.Server));
            await outgoing.AssertWorksAsync();
        }

        async Task<ConnectionContext> ConnectFromHandlerAsync(ConnectionContext connection)
        {
            connection.Transport.Input.AdvanceTo((await connection.Transport.Input.ReadAsync()).Buffer.End);
            return await peer.Factory.ConnectAsync(peer.EndPoint);
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_StopsWhileConnecting_ConnectFailsAndTheSocketIsClosed(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0);
        using Socket first = await peer.FillBacklogAsync();
        IoUringTransportOptions options = OutgoingPeer.OptionsOf(kind);
        EventLoopGroup loops = await EventLoopGroup.AcquireAsync(EventLoopSettings.From(options)).InTime();
        RingConnector connector = new(loops, options, TimeProvider.System, NullLogger.Instance);
        int descriptors = ProcessState.DescriptorCount;
        Task<ConnectionContext> connecting = connector.GetConnect()(peer.EndPoint, default);
        await Deadline.UntilAsync(() => loops.Usage.ItemCount == 1, () => "It did not begin.");

        await connector.DisposeAsync().InTime();

        await Assert.ThrowsAsync<ObjectDisposedException>(() => connecting.InTime());
        await Assert.ThrowsAsync<IOException>(() => connector.GetConnect()(peer.EndPoint, default).InTime());
        Assert.True(ProcessState.DescriptorCount < descriptors);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Cancel_WhileConnecting_GivesSlotAndDescriptorBack(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0);
        using Socket first = await peer.FillBacklogAsync();
        EventLoopGroup loops = await EventLoopGroup.AcquireAsync(EventLoopSettings.From(OutgoingPeer.OptionsOf(kind))).InTime();
        int descriptors = ProcessState.DescriptorCount;
        for (int i = 0; i < 20; i++)
        {
            using CancellationTokenSource source = new();
            Task<ConnectionContext> connecting = peer.ConnectOnlyAsync(cancellationToken: source.Token);
            await Deadline.UntilAsync(() => loops.Usage.ItemCount == 1, () => "It did not begin.");
            await source.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connecting);
            Assert.Equal(default, loops.Usage);
        }

        Assert.True(ProcessState.DescriptorCount <= descriptors);
        await loops.ReleaseAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference("A connect to a Unix socket whose listen queue is full waits for a place; one of a Socket fails with WouldBlock.")]
    public async Task Connect_UnixListenQueueIsFull_WaitsAndCanBeCancelled(TransportKind kind)
    {
        UnixDomainSocketEndPoint path = TransportServer.NewUnixEndPoint();
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, endPoint: path, backlog: 0);
        using Socket first = await peer.FillBacklogAsync();
        using CancellationTokenSource source = new();
        Task<ConnectionContext> cancelled = peer.ConnectOnlyAsync(cancellationToken: source.Token);
        Task<ConnectionContext> waiting = peer.ConnectOnlyAsync();
        Assert.Equal(SocketError.WouldBlock, (await Assert.ThrowsAsync<SocketException>(() => peer.FillBacklogAsync())).SocketErrorCode);

        await source.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled);
        Assert.False(waiting.IsCompleted);
        using Socket accepted = await peer.AcceptAsync();

        ConnectionContext connection = await waiting;
        await using ConnectionPair pair = new(await peer.AcceptAsync(), connection);
        await pair.AssertWorksAsync();
        File.Delete(path.ToString());
    }

    private static IConnectionSchedulerFeature SchedulerOf(ConnectionContext connection) => connection.Features.Get<IConnectionSchedulerFeature>()!;
}
