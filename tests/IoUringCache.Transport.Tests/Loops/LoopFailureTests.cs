using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>A ring that breaks takes its own connections with it and nothing else: nobody waits for it for ever.</summary>
public sealed class LoopFailureTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_Breaks_EverybodyWhoWaitsHears(TransportKind kind)
    {
        TransportServer server = await TransportServer.StartAsync(kind, options => SetLoops(options, 1));
        ConnectionPair reading = await server.ConnectAsync();
        ConnectionPair writing = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<ReadResult> read = reading.Input.ReadAsync().AsTask();
        Task<FlushResult> flush = await writing.Server.FlushUntilItWaitsAsync();
        Task<ConnectionContext?> accept = server.AcceptAsync();

        await BreakAsync(kind, loops: 1);

        await Assert.ThrowsAsync<IoUringException>(() => read.InTime());
        Assert.True((await flush.InTime()).IsCompleted);
        await Assert.ThrowsAsync<IoUringException>(() => accept.InTime());
        await server.Log.WaitForAsync(21);
        await reading.DisposeAsync();
        await writing.DisposeAsync();

        await server.Listener.UnbindAsync().InTime();
        await Assert.ThrowsAsync<IoUringException>(() => server.DisposeAsync().InTime());
        Assert.Equal(0, server.Pools.LiveCount);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_Broken_NewListenersGetNewLoops(TransportKind kind)
    {
        TransportServer broken = await TransportServer.StartAsync(kind, options => SetLoops(options, 1));
        await BreakAsync(kind, loops: 1);

        await using (TransportServer server = await TransportServer.StartAsync(kind, options => SetLoops(options, 1)))
        {
            // The end of the broken one leaves the new loops alone.
            await Assert.ThrowsAsync<IoUringException>(() => broken.DisposeAsync().InTime());
            await using ConnectionPair pair = await server.ConnectAsync();
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_Broken_ConnectionsGoToTheOthers(TransportKind kind)
    {
        TransportServer server = await TransportServer.StartAsync(kind, options => SetLoops(options, 3));

        // The first one, which accepts, had its turn already.
        await BreakAsync(kind, loops: 3);
        for (int i = 0; i < 6; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        }

        await Assert.ThrowsAsync<IoUringException>(() => server.DisposeAsync().InTime());
    }

    [Fact]
    public async Task Request_OfAnEndedLoop_IsRefused()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new(1, 8, 2, 512, ApplicationScheduling.ThreadPool)).InTime();
        EventLoop loop = group.Next();
        await group.ReleaseAsync().InTime();

        FailingItem item = new();
        loop.Request(item, 1);
        await item.Failed.InTime();
    }

    private static void SetLoops(IoUringTransportOptions options, int loops) => options.LoopCount = loops;

    /// <summary>Breaks the next loop of the group that the test's server uses.</summary>
    private static async Task BreakAsync(TransportKind kind, int loops)
    {
        IoUringTransportOptions options = new()
        {
            ApplicationScheduling = Transports.SchedulingOf(kind),
            LoopCount = loops,
        };
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(EventLoopSettings.From(options)).InTime();
        FailingItem item = new();
        group.Next().Request(item, 1);
        await item.Failed.InTime();
        await group.ReleaseAsync().InTime();
    }
}
