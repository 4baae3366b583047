using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Who takes connections goes on where all application code runs, and may do there what application code may.</summary>
public sealed class AcceptSchedulingTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Accept_ThatWaited_GoesOnWhereApplicationCodeRuns(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Task<bool> taking = TakeAsync(server, static _ => Thread.CurrentThread.IsThreadPoolThread);
        using Socket client = await server.ConnectClientAsync();

        Assert.Equal(kind == TransportKind.ThreadPool, await taking.InTime());
    }

    [Fact]
    public async Task Taker_Blocks_ConnectionsOfTheLoopGoOn()
    {
        await using TransportServer server = await TransportServer.StartAsync(TransportKind.Adaptive, options => options.LoopCount = 1);
        await using ConnectionPair witness = await server.ConnectAsync();
        using ManualResetEventSlim release = new();
        TaskCompletionSource blocking = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<bool> taking = TakeAsync(server, _ =>
        {
            blocking.SetResult();
            return release.Wait(Deadline.Limit);
        });
        using Socket client = await server.ConnectClientAsync();
        await blocking.Task.InTime();

        for (int i = 0; i < 20; i++)
        {
            await witness.AssertWorksAsync();
        }

        // They wait for somebody to take them, who has not come back yet.
        using Socket next = await server.ConnectClientAsync();
        release.Set();
        Assert.True(await taking.InTime());
        Assert.NotNull(await server.AcceptAsync());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Takers_ThatWaitTogether_AreAllServed(TransportKind kind)
    {
        const int Takers = 8;
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = 1);
        Task<bool>[] taking = [.. Enumerable.Range(0, Takers).Select(_ => TakeAsync(server, static connection => connection is not null))];
        Socket[] clients = await Task.WhenAll(Enumerable.Range(0, Takers).Select(_ => server.ConnectClientAsync()));

        Assert.All(await Task.WhenAll(taking).InTime(), Assert.True);
        Array.ForEach(clients, client => client.Dispose());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Taker_HasGoneAway_TheNextOneIsServed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        using CancellationTokenSource gone = new();
        Task<ConnectionContext?> taking = server.Listener.AcceptAsync(gone.Token).AsTask();
        await gone.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => taking.InTime());

        using Socket client = await server.ConnectClientAsync();
        Assert.NotNull(await server.AcceptAsync());
    }

    /// <summary>Takes a connection and goes on with it on the thread on which the transport calls.</summary>
    private static async Task<bool> TakeAsync(TransportServer server, Func<ConnectionContext?, bool> use) =>
        use(await server.Listener.AcceptAsync().ConfigureAwait(false));
}
