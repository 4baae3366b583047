using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What the peer sees on the wire, bytes and then FIN or RST, for every way in which the server's side can end.</summary>
public sealed class ConnectionWireParityTests
{
    /// <summary>Ways to end that lose nothing: the peer sees all bytes, then FIN.</summary>
    private static readonly Dictionary<string, Func<ConnectionPair, Task>> s_orderlyEnds = new()
    {
        ["dispose"] = pair => pair.Server.DisposeAsync().InTime(),
        ["complete output"] = pair => pair.Output.CompleteAsync().InTime(),
        ["complete input, then output"] = async pair =>
        {
            await pair.Input.CompleteAsync().InTime();
            await pair.Output.CompleteAsync().InTime();
        },
        ["complete output, then input"] = async pair =>
        {
            await pair.Output.CompleteAsync().InTime();
            await pair.Input.CompleteAsync().InTime();
        },
        ["complete input with an error, then dispose"] = async pair =>
        {
            await pair.Input.CompleteAsync(new IOException("of no interest to the peer")).InTime();
            await pair.Server.DisposeAsync().InTime();
        },
        ["complete output, then dispose"] = async pair =>
        {
            await pair.Output.CompleteAsync().InTime();
            await pair.Server.DisposeAsync().InTime();
        },
        ["dispose while a read waits"] = async pair =>
        {
            Task reading = pair.Input.ReadAsync().AsTask();
            await pair.Output.CompleteAsync().InTime();
            await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime());
            await pair.Server.DisposeAsync().InTime();
        },
    };

    /// <summary>Ways to break off: the peer sees a reset, whatever was still to be sent.</summary>
    private static readonly Dictionary<string, Func<ConnectionPair, Task>> s_resets = new()
    {
        ["abort"] = pair => Do(() => pair.Server.Abort()),
        ["abort with a reason"] = pair => Do(() => pair.Server.Abort(new ConnectionAbortedException("reason"))),
        ["abort through the lifetime feature"] = pair =>
            Do(() => pair.Server.Features.Get<Microsoft.AspNetCore.Connections.Features.IConnectionLifetimeFeature>()!.Abort()),
        ["abort twice"] = pair => Do(() =>
        {
            pair.Server.Abort();
            pair.Server.Abort();
        }),
        ["abort, then dispose"] = async pair =>
        {
            pair.Server.Abort();
            await pair.Server.DisposeAsync().InTime();
        },
        ["abort while a read waits"] = async pair =>
        {
            Task reading = pair.Input.ReadAsync().AsTask();
            pair.Server.Abort();
            await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime());
        },
        ["abort from many threads"] = pair => Task.Run(() => Parallel.For(0, 8, _ => pair.Server.Abort())),
        ["complete input, then abort"] = async pair =>
        {
            await pair.Input.CompleteAsync().InTime();
            pair.Server.Abort();
        },
        ["complete output with an error"] = pair => pair.Output.CompleteAsync(new IOException("broken off")).InTime(),
        ["complete output with an error, then dispose"] = async pair =>
        {
            await pair.Output.CompleteAsync(new ConnectionAbortedException("broken off")).InTime();
            await pair.Server.DisposeAsync().InTime();
        },
    };

    public static TheoryData<TransportKind, string> OrderlyEnds => Transports.AllWith(s_orderlyEnds.Keys);

    public static TheoryData<TransportKind, string> Resets => Transports.AllWith(s_resets.Keys);

    [Theory]
    [MemberData(nameof(OrderlyEnds))]
    public async Task Server_EndsInOrder_ClientSeesBytesThenFin(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(500_000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Task<FlushResult> flushing = pair.Output.WriteAsync(sent).AsTask();
        await s_orderlyEnds[end](pair);
        Payload.AssertEqual(sent, await receiving.InTime());
        await flushing.InTime();
        await AssertClosedAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Resets))]
    public async Task Server_BreaksOff_ClientSeesReset(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await s_resets[end](pair);
        await pair.Client.AssertResetAsync();
        await AssertClosedAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Resets))]
    public async Task Server_BreaksOffWithBytesUnsent_ClientSeesReset(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        Task ending = s_resets[end](pair);
        await pair.Client.AssertResetAsync();
        await ending.InTime();

        // On sockets it throws the application's own error, if the application gave one.
        _ = await Record.ExceptionAsync(() => flushing.InTime());
        Assert.True(flushing.IsCompleted);
        await AssertClosedAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "The Sockets transport resets a connection whose output was completed with an error only when the client has read what the send "
        + "call holds, and the flush that waits throws that error; here the reset leaves at once, and the flush reports completion.")]
    public async Task Server_CompletesOutputWithErrorAndClientReadsNothing_ResetLeavesAtOnce(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        await pair.Output.CompleteAsync(new IOException("broken off")).InTime();
        Assert.True((await flushing.InTime()).IsCompleted);
        await pair.Server.DisposeAsync().InTime();
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(Resets))]
    public async Task Server_BreaksOffUnderFinOnError_ClientSeesFin(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartWithFinOnErrorAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await s_resets[end](pair);
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
        await AssertClosedAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "SocketTransportOptions.FinOnError, which is internal to Kestrel and set by its own tests for one host, does not count: an abort resets "
        + "the connection, where it is FIN on sockets. The switch from which it starts, Microsoft.AspNetCore.Server.Kestrel.FinOnError, "
        + "counts on both.")]
    public async Task Server_AbortsUnderFinOnErrorOfOneHost_ClientSeesAnEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, finOnError: true);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Abort();
        if (kind == TransportKind.Sockets)
        {
            Assert.Empty(await pair.Client.ReceiveToEndAsync());
        }
        else
        {
            await pair.Client.AssertResetAsync();
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Server_DisposesWhileClientGoesOnSending_ClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task sending = pair.Client.SendUntilItFailsAsync();
        _ = await pair.Input.ReadAsync().InTime();
        await pair.Server.DisposeAsync().InTime();
        await sending;
    }

    private static async Task AssertClosedAsync(ConnectionPair pair)
    {
        TaskCompletionSource closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        pair.Server.ConnectionClosed.Register(closed.SetResult);
        await closed.Task.InTime();
    }

    private static Task Do(Action action)
    {
        action();
        return Task.CompletedTask;
    }
}
