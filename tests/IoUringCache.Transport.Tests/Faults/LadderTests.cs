using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// The whole transport on every rung of the ladder of set-up flags: real rings, made by a kernel that refuses the flags above.
/// </summary>
public sealed class LadderTests
{
    private static readonly int[] s_sizes = [0, 1, 4095, 4096, 4097, 65_537, 1_000_000];

    public static TheoryData<TransportKind, int> Rungs => Transports.IoUringWith(Enumerable.Range(0, SetupRung.Ladder.Length));

    [Theory]
    [MemberData(nameof(Rungs))]
    public async Task Echo_OfEverySize_ComesBackExactly(TransportKind kind, int rung)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind, rung);
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);

        await Task.WhenAll(Enumerable.Range(0, 5 * s_sizes.Length).Select(async index =>
        {
            using Socket client = await server.ConnectClientAsync();
            byte[] sent = Payload.Of(s_sizes[index % s_sizes.Length], index);
            Task<byte[]> receiving = client.ReceiveToEndAsync();
            await client.SendAllAsync(sent);
            client.Shutdown(SocketShutdown.Send);
            Payload.AssertEqual(sent, await receiving.InTime());
        })).InTime();

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
        LogEntry backend = Assert.Single(server.Log.Entries, entry => entry.Id.Id == 1);
        SetupRung reached = SetupRung.Ladder.Skip(rung).First(candidate => kind != TransportKind.Adaptive || !candidate.IsBoundToThread);
        Assert.EndsWith($", {reached.Description})", backend.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Rungs))]
    public async Task Connection_WrittenToFromAnotherThreadWhileTheLoopSleeps_SendsAtOnce(TransportKind kind, int rung)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind, rung);
        await using ConnectionPair pair = await server.ConnectAsync();
        for (int i = 0; i < 20; i++)
        {
            byte[] sent = Payload.Of(100, i);
            Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(sent.Length);
            await Task.Run(() => pair.Output.WriteAsync(sent).InTime());
            Payload.AssertEqual(sent, await receiving.InTime());
        }
    }

    [Theory]
    [MemberData(nameof(Rungs))]
    public async Task Endings_AllKinds_AreSeenByBothSides(TransportKind kind, int rung)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind, rung);

        // The client ends first, and the server still answers.
        await using (ConnectionPair pair = await server.ConnectAsync())
        {
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            pair.Client.Shutdown(SocketShutdown.Send);
            Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeToEndAsync());
            await pair.Output.WriteAsync("def"u8.ToArray()).InTime();
            await pair.Output.CompleteAsync().InTime();
            Assert.Equal("def"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
        }

        // The client resets.
        await using (ConnectionPair pair = await server.ConnectAsync())
        {
            Task<ReadResult> read = pair.Input.ReadAsync().AsTask();
            pair.Client.Reset();
            await Assert.ThrowsAsync<ConnectionResetException>(() => read.InTime());
        }

        // The server ends first, with bytes on their way.
        ConnectionPair ended = await server.ConnectAsync();
        byte[] last = Payload.Of(300_000);
        Task<byte[]> receiving = ended.Client.ReceiveToEndAsync();
        await ended.Output.WriteAsync(last).InTime();
        await ended.Server.DisposeAsync().InTime();
        Payload.AssertEqual(last, await receiving.InTime());
        await ended.DisposeAsync();

        // The server aborts, with a receive and a send in the kernel.
        ConnectionPair aborted = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flush = await aborted.Server.FlushUntilItWaitsAsync();
        aborted.Server.Abort();
        Assert.True((await flush.InTime()).IsCompleted);
        await aborted.Client.AssertResetAsync();
        await aborted.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(Rungs))]
    public async Task Limits_OfReadingAndOfBuffers_PauseAndGoOn(TransportKind kind, int rung)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind, rung, options =>
        {
            options.MaxReadBufferSize = 2000;
            options.Advanced.ReceiveBufferCount = 2;
            options.Advanced.ReceiveBufferSize = 512;
            options.Advanced.RingEntries = 8;
        });
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < 10; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        await Task.WhenAll(pairs.Select(pair => pair.AssertWorksAsync(20_000))).InTime();

        await Task.WhenAll(pairs.Select(pair => pair.DisposeAsync().AsTask())).InTime();
    }

    private static Task<TransportServer> StartAsync(
        FaultKernel kernel, TransportKind kind, int rung, Action<IoUringTransportOptions>? configure = null)
    {
        IoUringRequirement.Check();
        string own = IoUring.Capabilities.Description;
        Assert.SkipWhen(SetupRung.Ladder.TakeWhile(step => step.Description != own).Count() > rung, $"This kernel gets no further than: {own}.");
        kernel.StopAtRung(rung);
        return FaultTest.StartAsync(kernel, kind, configure);
    }
}
