using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What the server's application sees when the client ends, in every order with what the server is doing.</summary>
public sealed class ConnectionPeerParityTests
{
    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ClosesWithUnreadBytes_ReadThrowsConnectionReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Output.WriteAsync("unread"u8.ToArray()).InTime();
        await Deadline.UntilAsync(() => pair.Client.Available == 6, () => "The bytes have not come.");
        pair.Client.Dispose();
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_Closes_LaterWritesReportCompletionAndReaderStaysCompleted(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Dispose();
        Assert.Empty(await pair.Input.TakeToEndAsync());
        while (!(await pair.Output.WriteAsync(new byte[1000]).InTime()).IsCompleted)
        {
            // The first write still leaves, and the peer's host answers with RST.
        }

        ReadResult result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCompleted);
        pair.Input.AdvanceTo(result.Buffer.End);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_SendsFinThenResets_ReaderCompletesWithoutErrorAndFlushCompletes(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeToEndAsync());
        pair.Client.Reset();
        while (!(await pair.Output.WriteAsync(new byte[1000]).InTime()).IsCompleted)
        {
            // Until the reset has come.
        }

        Assert.True((await pair.Input.ReadAsync().InTime()).IsCompleted);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ResetsWhileReceivingIsPaused_ReadThrowsOnceItGoesOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Blocking = false;
        while (pair.Client.Poll(TimeSpan.FromMilliseconds(100), SelectMode.SelectWrite))
        {
            pair.Client.Send(new byte[16 * 1024], SocketFlags.None, out SocketError _);
        }

        await server.Log.WaitForAsync(4);
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(pair.Input.TakeToEndAsync);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_HalfCloses_ServerSendsManyAnswersThenFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Empty(await pair.Input.TakeToEndAsync());
        await pair.Input.CompleteAsync().InTime();
        using MemoryStream sent = new();
        for (int i = 0; i < 50; i++)
        {
            byte[] piece = Payload.Of(1_000, i);
            sent.Write(piece);
            Assert.False((await pair.Output.WriteAsync(piece).InTime()).IsCompleted);
        }

        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(sent.ToArray(), await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ShutsItsReceivingDown_ServerStillReceives(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Shutdown(SocketShutdown.Receive);
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_SendsBytesAndFinTogether_OneReaderSeesBoth(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        for (int i = 0; i < 50; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            byte[] sent = Payload.Of(5_000, i);
            await pair.Client.SendAllAsync(sent);
            pair.Client.Dispose();
            Payload.AssertEqual(sent, await pair.Input.TakeToEndAsync());
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_ResetsAfterAbort_ReaderKeepsTheAbortsReason(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        ConnectionAbortedException reason = new("first");
        pair.Server.Abort(reason);
        pair.Client.Reset();
        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime()));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Server_AbortsAfterClientsReset_ReaderKeepsTheReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
        pair.Server.Abort(new ConnectionAbortedException("late"));
        await pair.Server.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Server_DisposesWhileClientSends_ClientsSendFails(TransportKind kind)
    {
        // Each time with the client as far ahead as the kernel lets it.
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        for (int i = 0; i < 10; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            pair.Client.Blocking = false;
            while (pair.Client.Poll(TimeSpan.FromMilliseconds(50), SelectMode.SelectWrite))
            {
                pair.Client.Send(new byte[64 * 1024], SocketFlags.None, out SocketError _);
            }

            Task sending = Assert.ThrowsAsync<SocketException>(() => pair.Client.SendAllAsync(new byte[16 * 1024 * 1024]));
            await pair.Server.DisposeAsync().InTime();
            await sending.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Server_CompletesOutputWithError_ReaderThrowsThatError(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IOException error = new("broken off");
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Output.Complete(error);
        Assert.Same(error, await Assert.ThrowsAsync<IOException>(() => reading.InTime()));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionClosed_CallbackThrows_ConnectionEndsAllTheSame(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        bool second = false;
        pair.Server.ConnectionClosed.Register(() => second = true);
        pair.Server.ConnectionClosed.Register(() => throw new InvalidOperationException("of the application"));
        await pair.Server.DisposeAsync().InTime();
        Assert.True(second);
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionClosed_CallbackBlocks_DisposeWaitsForIt(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using ManualResetEventSlim release = new();
        TaskCompletionSource entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
        pair.Server.ConnectionClosed.Register(() =>
        {
            entered.SetResult();
            release.Wait(Deadline.Limit);
        });
        Task disposing = pair.Server.DisposeAsync().AsTask();
        await entered.Task.InTime();
        Assert.False(disposing.IsCompleted);
        release.Set();
        await disposing.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionClosed_AfterClientsFin_FiresWhileTheServerStillSends(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        TaskCompletionSource closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        pair.Server.ConnectionClosed.Register(closed.SetResult);
        pair.Client.Shutdown(SocketShutdown.Send);
        await closed.Task.InTime();
        await pair.Output.WriteAsync("still here"u8.ToArray()).InTime();
        Assert.Equal("still here"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(10));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Dispose_AtOnceWithAbort_BothReturnAndClientSeesAnEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        for (int i = 0; i < 50; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            Task aborting = Task.Run(() => pair.Server.Abort());
            await pair.Server.DisposeAsync().InTime();
            await aborting.InTime();
            Exception? end = await Record.ExceptionAsync(pair.Client.ReceiveToEndAsync);
            Assert.True(end is null or SocketException { SocketErrorCode: SocketError.ConnectionReset }, $"{end}");
        }
    }
}
