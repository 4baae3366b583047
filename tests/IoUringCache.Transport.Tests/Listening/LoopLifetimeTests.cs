using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Loops are shared while somebody listens, and leave nothing behind.</summary>
public sealed class LoopLifetimeTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_OfLastListener_GivesThreadsAndDescriptorsBack(TransportKind kind)
    {
        // Once before counting: the runtime opens descriptors of its own at the first socket.
        await RunOnceAsync(kind);
        await ProcessState.LoopsEndedAsync();
        int descriptors = ProcessState.DescriptorCount;
        for (int i = 0; i < 3; i++)
        {
            await RunOnceAsync(kind);
        }

        await ProcessState.LoopsEndedAsync();
        await Deadline.UntilAsync(
            () => ProcessState.DescriptorCount <= descriptors,
            () => $"{ProcessState.DescriptorCount} descriptors are open, {descriptors} were before.");
    }

    [Fact]
    public async Task Loops_OfEqualOptions_AreShared()
    {
        await ProcessState.LoopsEndedAsync();
        await using TransportServer first = await TransportServer.StartAsync(configure: Set);
        int threads = ProcessState.LoopThreadCount;
        await using (TransportServer second = await TransportServer.StartAsync(configure: Set))
        {
            Assert.Equal(threads, ProcessState.LoopThreadCount);
            await using ConnectionPair pair = await second.ConnectAsync();
        }

        // The second one's end left the first one's loops alone.
        await using ConnectionPair again = await first.ConnectAsync();
        await again.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await again.Input.TakeAsync(3));

        static void Set(IoUringTransportOptions options) => options.LoopCount = 3;
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WithLiveConnections_EndsThem(TransportKind kind)
    {
        TransportServer server = await TransportServer.StartAsync(kind);
        ConnectionPair idle = await server.ConnectAsync();
        ConnectionPair reading = await server.ConnectAsync();
        ConnectionPair writing = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<ReadResult> read = reading.Input.ReadAsync().AsTask();
        Task<FlushResult> flush = await writing.Server.FlushUntilItWaitsAsync();

        await server.DisposeAsync();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
        Assert.True((await flush.InTime()).IsCompleted);
        await idle.Client.AssertResetAsync();
        await reading.Client.AssertResetAsync();
        foreach (ConnectionPair pair in new[] { idle, reading, writing })
        {
            await pair.DisposeAsync();
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connection_UsedAfterItsLoopEnded_SaysSo(TransportKind kind)
    {
        TransportServer server = await TransportServer.StartAsync(kind);
        ConnectionPair pair = await server.ConnectAsync();
        await server.DisposeAsync();

        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        Assert.True((await pair.Output.WriteAsync(new byte[10]).InTime()).IsCompleted);
        pair.Input.CancelPendingRead();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        pair.Output.CancelPendingFlush();
        await pair.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Data_HeldWhenTheLoopEnds_StaysReadable(TransportKind kind)
    {
        TransportServer server = await TransportServer.StartAsync(kind);
        ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(10_000);
        await pair.Client.SendAllAsync(sent);
        ReadResult result = await pair.Input.ReadAtLeastAsync(sent.Length).InTime();
        await server.DisposeAsync();
        Payload.AssertEqual(sent, pair.Input.TakeAll(result));
        await pair.DisposeAsync();
    }

    [Fact]
    public async Task Acquire_WhileOthersRelease_AlwaysGivesRunningLoops()
    {
        IoUringRequirement.Check();
        EventLoopSettings settings = new(1, 8, 2, 512, ApplicationScheduling.ThreadPool);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            for (int i = 0; i < 20; i++)
            {
                EventLoopGroup group = await EventLoopGroup.AcquireAsync(settings).InTime();
                Assert.NotEmpty(group.Description);
                await group.ReleaseAsync().InTime();
            }
        }))).InTime();
        await ProcessState.LoopsEndedAsync();
    }

    private static async Task RunOnceAsync(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = 2);
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);
        await Task.WhenAll(Enumerable.Range(0, 20).Select(async index =>
        {
            using Socket client = await server.ConnectClientAsync();
            await client.SendAllAsync(Payload.Of(1000, index));
            await client.ReceiveExactlyAsync(1000);
        })).InTime();
        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
        await server.Listener.DisposeAsync().InTime();
        Assert.Equal(0, server.Pools.LiveCount);
    }
}
