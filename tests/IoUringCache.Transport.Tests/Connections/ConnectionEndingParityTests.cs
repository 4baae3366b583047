using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>How connections end, as both sides see it: the same on io_uring and on Kestrel's Sockets transport.</summary>
public sealed class ConnectionEndingParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_SendsFin_ReaderCompletesAndServerStillSends(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("hello"u8.ToArray());
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal("hello"u8.ToArray(), await pair.Input.TakeToEndAsync());
        await ConnectionClosedAsync(pair);

        byte[] answer = Payload.Of(100_000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        FlushResult flush = await pair.Output.WriteAsync(answer).InTime();
        Assert.False(flush.IsCompleted);
        await pair.Server.DisposeAsync().InTime();
        Payload.AssertEqual(answer, await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_SendsFinAtOnce_ReaderCompletesWithoutData(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Client.Shutdown(SocketShutdown.Send);
        ReadResult result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCompleted);
        Assert.False(result.IsCanceled);
        Assert.True(result.Buffer.IsEmpty);
        pair.Input.AdvanceTo(result.Buffer.End);

        // And again, as often as one asks.
        Assert.True((await pair.Input.ReadAsync().InTime()).IsCompleted);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_Resets_PendingReadThrowsConnectionReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => reading.InTime());
        await ConnectionClosedAsync(pair);
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ResetsWithUnreadData_NextReadThrowsAtOnce(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("hello"u8.ToArray());
        ReadResult result = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        pair.Client.Reset();
        await ConnectionClosedAsync(pair);
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_Resets_FlushEventuallyReportsCompletion(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Client.Reset();
        await ConnectionClosedAsync(pair);
        FlushResult result;
        do
        {
            result = await pair.Output.WriteAsync(new byte[1000]).InTime();
        }
        while (!result.IsCompleted);

        Assert.False(result.IsCanceled);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ResetsWhileFlushWaits_FlushReportsCompletion(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        pair.Client.Reset();
        FlushResult result = await flushing.InTime();
        Assert.True(result.IsCompleted);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_Aborts_ClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        ConnectionAbortedException reason = new("reason of the test");
        pair.Server.Abort(reason);

        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime()));
        await pair.Client.AssertResetAsync();
        await ConnectionClosedAsync(pair);

        // The send loop of the Sockets transport ends on its own time.
        FlushResult flush;
        do
        {
            flush = await pair.Output.WriteAsync(new byte[1]).InTime();
        }
        while (!flush.IsCompleted);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsTwice_FirstReasonCounts(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        ConnectionAbortedException first = new("first");
        pair.Server.Abort(first);
        pair.Server.Abort(new ConnectionAbortedException("second"));
        Assert.Same(first, await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime()));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsWithoutReason_ClientSeesFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Server.Abort(null!);
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsWhileClientSends_ClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task sending = SendUntilErrorAsync(pair.Client);
        await server.Log.WaitForAsync(4); // ConnectionPause: nobody reads.
        pair.Server.Abort(new ConnectionAbortedException("enough"));
        await sending.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsWhileFlushWaits_FlushReportsCompletionAndClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        pair.Server.Abort(new ConnectionAbortedException("enough"));
        Assert.True((await flushing.InTime()).IsCompleted);
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsAfterClientsFin_ClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Empty(await pair.Input.TakeToEndAsync());
        pair.Server.Abort(new ConnectionAbortedException("enough"));
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsWhileDisposeWaitsForBytesToLeave_ClientSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        Task disposing = pair.Server.DisposeAsync().AsTask();
        Assert.False(disposing.IsCompleted);
        pair.Server.Abort(new ConnectionAbortedException("enough"));
        await disposing.InTime();
        Assert.True((await flushing.InTime()).IsCompleted);
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_Disposes_ClientSeesAllBytesThenFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        // More than any buffer between the two, so most of it is unsent when the dispose begins.
        byte[] data = Payload.Of(8 * 1024 * 1024);
        Task<FlushResult> flushing = pair.Output.WriteAsync(data).AsTask();
        Task disposing = pair.Server.DisposeAsync().AsTask();
        Payload.AssertEqual(data, await pair.Client.ReceiveToEndAsync());
        await disposing.InTime();
        await flushing.InTime();
        Assert.True(pair.Server.ConnectionClosed.IsCancellationRequested);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_CompletesOutput_ClientSeesBytesThenFinAndReaderAborts(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        await pair.Output.WriteAsync("bye"u8.ToArray()).InTime();
        await pair.Output.CompleteAsync().InTime();
        Assert.Equal("bye"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime());
        await ConnectionClosedAsync(pair);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_CompletesOutputWithUnflushedBytes_TheyAreSent(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        "bye"u8.CopyTo(pair.Output.GetSpan(3));
        pair.Output.Advance(3);
        await pair.Output.CompleteAsync().InTime();
        Assert.Equal("bye"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_CompletesInputWhileClientSends_OutputStillWorks(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Input.CompleteAsync().InTime();
        await pair.Client.SendAllAsync("ignored"u8.ToArray());
        await ConnectionClosedAsync(pair);
        Assert.False((await pair.Output.WriteAsync("bye"u8.ToArray()).InTime()).IsCompleted);
        Assert.Equal("bye"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_DisposesTwice_SecondReturns(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Server.DisposeAsync().InTime();
        await pair.Server.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsAfterDispose_NothingHappens(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Server.DisposeAsync().InTime();
        pair.Server.Abort(new ConnectionAbortedException("late"));
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(All))]
    [DeliberateDifference("With Inline and Adaptive its callbacks run on the loop, like all application code; on sockets always on the thread pool.")]
    public async Task ConnectionClosed_Fires_WhereApplicationCodeRuns(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        TaskCompletionSource<bool> onThreadPool = new(TaskCreationOptions.RunContinuationsAsynchronously);
        pair.Server.ConnectionClosed.Register(() => onThreadPool.SetResult(Thread.CurrentThread.IsThreadPoolThread));
        pair.Client.Reset();
        Assert.Equal(kind is TransportKind.Sockets or TransportKind.ThreadPool, await onThreadPool.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Dispose_AfterAbort_EndsAfterConnectionClosedFired(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        bool fired = false;
        pair.Server.ConnectionClosed.Register(() => fired = true);
        pair.Server.Abort();
        await pair.Server.DisposeAsync().InTime();
        Assert.True(fired);
    }

    private static void SmallWindows(Socket client)
    {
        client.ReceiveBufferSize = 4096;
    }

    private static async Task SendUntilErrorAsync(Socket client)
    {
        byte[] data = new byte[64 * 1024];
        SocketException exception = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            while (true)
            {
                await client.SendAsync(data).InTime();
            }
        });
        Assert.Contains(exception.SocketErrorCode, new[] { SocketError.ConnectionReset, SocketError.Shutdown });
    }

    private static Task ConnectionClosedAsync(ConnectionPair pair)
    {
        TaskCompletionSource closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        pair.Server.ConnectionClosed.Register(closed.SetResult);
        return closed.Task.InTime();
    }
}
