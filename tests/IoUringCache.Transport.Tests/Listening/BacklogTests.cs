using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Loops with too many requests that are not completed get no new connections, and get them again.</summary>
public sealed class BacklogTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Seeds => Transports.IoUringWith([1, 2, 3, 4]);

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_AboveTheLimit_PausesUntilHalfOfIt(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 1, limit: 3);
        for (int round = 0; round < 5; round++)
        {
            await server.ConnectBusyAsync(3);
            await server.AssertAcceptsAsync();

            await server.ConnectBusyAsync(1);
            await server.AssertPausedAsync();

            // Two are above the half of three.
            await server.FinishAsync(2);
            await server.AssertPausedAsync();

            await server.FinishAsync(1);
            await server.AssertAcceptsAsync();
            await server.FinishAsync(1);
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_OneOfTwoLoopsAboveItsLimit_TheOtherOneGetsAll(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 2, limit: 2);

        // Dealt in turn: three for each.
        await server.ConnectBusyAsync(6);
        await server.AssertPausedAsync();

        // All of one loop are completed, and it gets those who have waited; the other one has its three as before.
        foreach (BusyConnection connection in server.Busy.Where((_, index) => index % 2 == 0).ToArray())
        {
            await server.FinishAsync(connection);
        }

        await server.ConnectBusyAsync(3);
        await server.AssertPausedAsync();
        Assert.Equal(6, server.BusyCount);
    }

    /// <summary>All that have gathered would be busy at once, and late.</summary>
    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_ACrowdThatHasWaited_IsLetInAsThoseBeforeItEnd(TransportKind kind)
    {
        const int Crowd = 32;
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 1, limit: 2);
        await server.ConnectBusyAsync(3);
        await server.AssertPausedAsync();
        Socket[] crowd = new Socket[Crowd];
        for (int index = 0; index < Crowd; index++)
        {
            crowd[index] = await server.Transport.ConnectClientAsync();
            await crowd[index].SendAllAsync("a"u8.ToArray());
        }

        await server.FinishAsync(3);
        int most = 0;
        foreach (Socket client in crowd)
        {
            server.Add(client, (await server.Transport.AcceptAsync())!);
            await Deadline.UntilAsync(() => server.BusyCount > 0, () => "Nobody is busy.");
            most = Math.Max(most, server.BusyCount);
            await server.FinishAsync(1);
        }

        // The limit, and those who came in the turns until the loop had seen it.
        Assert.InRange(most, 1, 8);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Busy_IsWhoHasBytesAndAsksForNoMore(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 1, limit: 100);
        await using ConnectionPair pair = await server.Transport.ConnectAsync();
        Assert.Equal(0, server.BusyCount);

        await pair.Client.SendAllAsync("ab"u8.ToArray());
        await server.UntilBusyAsync(1);
        Assert.Equal("ab"u8.ToArray(), await pair.Input.TakeAsync(2));
        Assert.Equal(1, server.BusyCount);

        // Asks for more, gets it, and asks for the rest of it.
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        await server.UntilBusyAsync(0);
        await pair.Client.SendAllAsync("c"u8.ToArray());
        ReadResult result = await reading.InTime();
        await server.UntilBusyAsync(1);
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        reading = pair.Input.ReadAsync().AsTask();
        await server.UntilBusyAsync(0);

        pair.Input.CancelPendingRead();
        result = await reading.InTime();
        Assert.Equal(0, server.BusyCount);
        pair.Input.AdvanceTo(result.Buffer.End);
        await pair.Client.SendAllAsync("d"u8.ToArray());
        await server.UntilBusyAsync(1);
        await pair.Input.CompleteAsync();
        await server.UntilBusyAsync(0);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_QueueFullAndLimitReached_GoesOnWhenBothAreGone(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 1, limit: 1, backlog: 2);
        await server.ConnectBusyAsync(2);
        await server.AssertPausedAsync();
        await server.FinishAsync(2);

        // Two are not taken, and both have sent something.
        Socket[] clients = [await server.Transport.ConnectClientAsync(), await server.Transport.ConnectClientAsync()];
        foreach (Socket client in clients)
        {
            await client.SendAllAsync("a"u8.ToArray());
        }

        await server.UntilBusyAsync(2);
        using Socket waiting = await server.Transport.ConnectClientAsync();
        foreach (Socket client in clients)
        {
            server.Add(client, (await server.Transport.AcceptAsync())!);
        }

        await server.FinishAsync(2);
        ConnectionContext? last = await server.Transport.AcceptAsync();
        Assert.Equal(waiting.LocalEndPoint, last!.RemoteEndPoint);
        await last.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Unbind_WhilePaused_EndsAtOnce(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 1, limit: 1);
        await server.ConnectBusyAsync(2);
        await server.AssertPausedAsync();
        using Socket waiting = await server.Transport.ConnectClientAsync();

        await server.Transport.Listener.UnbindAsync().InTime();

        await waiting.AssertResetAsync();
        await server.FinishAsync(2);
        Assert.Null(await server.Transport.AcceptAsync());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Dispose_WhilePaused_EndsTheLoopsAndTheirConnections(TransportKind kind)
    {
        await using BusyServer server = await BusyServer.StartAsync(kind, loops: 2, limit: 1);
        await server.ConnectBusyAsync(4);
        await server.AssertPausedAsync();

        await server.EndLoopsAsync();

        foreach (BusyConnection connection in server.Busy.ToArray())
        {
            await connection.Client.AssertResetAsync();
            await server.FinishAsync(connection);
        }
    }

    [Fact]
    public async Task Loop_TakenOverWhilePaused_AcceptsAgain()
    {
        await using BusyServer server = await BusyServer.StartAsync(TransportKind.Adaptive, loops: 1, limit: 2);
        using ManualResetEventSlim release = new();
        ConnectionPair blocked = await server.Transport.ConnectAsync();
        TaskCompletionSource entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task application = BlockAsync();
        await server.ConnectBusyAsync(3);
        await server.AssertPausedAsync();

        await blocked.Client.SendAllAsync("a"u8.ToArray());
        await entered.Task.InTime();
        await server.AssertPausedAsync();
        await server.FinishAsync(3);

        // The one that blocks is the half of two.
        await server.AssertAcceptsAsync();
        release.Set();
        await application.InTime();
        await blocked.DisposeAsync();
        await server.AssertAcceptsAsync();

        async Task BlockAsync()
        {
            ReadResult read = await blocked.Input.ReadAsync().ConfigureAwait(false);
            blocked.Input.AdvanceTo(read.Buffer.End);
            entered.SetResult();
            release.Wait(Deadline.Limit);
        }
    }

    /// <summary>Clients come and requests end at any moment and on any thread; whenever all have ended, the next client is accepted.</summary>
    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Interleavings_OfBusyAndIdle_AcceptingNeverStaysPaused(TransportKind kind, int seed)
    {
        const int Rounds = 150;
        Random random = new(seed);
        int loops = 1 + (seed % 2);
        await using BusyServer server = await BusyServer.StartAsync(kind, loops, limit: 1 + (seed / 2 % 2));
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < 8; i++)
        {
            pairs.Add(await server.Transport.ConnectAsync());
        }

        for (int round = 0; round < Rounds; round++)
        {
            ConnectionPair[] some = [.. pairs.Where(_ => random.Next(2) == 0)];
            int spins = random.Next(2000);
            Task[] turns = [.. some.Select((pair, index) => Task.Run(() => WorkAsync(pair, spins * index)))];

            // Comes at any moment of it, and is accepted at the latest when all of it is over.
            await server.AssertAcceptsAsync();
            await Task.WhenAll(turns).InTime();
        }

        await server.AssertAcceptsAsync();
        foreach (ConnectionPair pair in pairs)
        {
            await pair.DisposeAsync();
        }

        await server.UntilBusyAsync(0);

        static async Task WorkAsync(ConnectionPair pair, int spins)
        {
            await pair.Client.SendAllAsync("a"u8.ToArray());
            await pair.Input.TakeAsync(1);
            Thread.SpinWait(spins);
            Task<ReadResult> next = pair.Input.ReadAsync().AsTask();
            Thread.SpinWait(spins);
            pair.Input.CancelPendingRead();
            pair.Input.AdvanceTo((await next.InTime()).Buffer.Start);
        }
    }
}
