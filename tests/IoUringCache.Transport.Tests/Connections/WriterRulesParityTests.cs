using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Writing and flushing in every order: what is sent, what is thrown, what a flush reports.</summary>
public sealed class WriterRulesParityTests
{
    /// <summary>What the application may still call after it has completed the writer, and what throws.</summary>
    private static readonly Dictionary<string, (Func<PipeWriter, Task> Call, bool Throws)> s_lateCalls = new()
    {
        ["GetMemory"] = (output => Task.FromResult(output.GetMemory(1)), true),
        ["GetSpan"] = (output => Task.FromResult(output.GetSpan(1).Length), true),
        ["WriteAsync"] = (output => output.WriteAsync(new byte[1]).AsTask(), true),
        ["FlushAsync"] = (output => output.FlushAsync().AsTask(), false),
        ["CancelPendingFlush"] = (output => Do(output.CancelPendingFlush), false),
        ["Complete"] = (output => Do(() => output.Complete()), false),
    };

    public static TheoryData<TransportKind, string> LateCalls => Transports.AllWith(s_lateCalls.Keys);

    [Theory]
    [MemberData(nameof(LateCalls))]
    public async Task Writer_CalledAfterComplete_ThrowsOrDoesNothing(TransportKind kind, string call)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Output.WriteAsync("bye"u8.ToArray()).InTime();
        pair.Output.Complete();
        Exception? exception = await Record.ExceptionAsync(async () => await s_lateCalls[call].Call(pair.Output).InTime());
        Assert.Equal(s_lateCalls[call].Throws ? typeof(InvalidOperationException) : null, exception?.GetType());
        Assert.Equal("bye"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Advance_WithoutMemory_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Output.Advance(1));
        pair.Output.Advance(0);
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "After a flush memory has to be asked for before an advance, or that throws; on the base library's pipe it counts bytes that nobody "
        + "has written.")]
    public async Task Advance_AfterAFlushWithoutMemory_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Output.Advance(1));
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "A second flush at the same time throws, and the first one goes on; on the base library's pipe both are lost over it, and the reader "
        + "is completed with an error.")]
    public async Task FlushAsync_WhileAFlushWaits_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        await Assert.ThrowsAsync<InvalidOperationException>(() => pair.Output.FlushAsync().InTime());
        Assert.False(flushing.IsCompleted);
        pair.Output.CancelPendingFlush();
        Assert.True((await flushing.InTime()).IsCanceled);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Advance_LessThanTheMemory_SendsThatMuch(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(20_000);
        Random random = new(1);
        for (int at = 0; at < sent.Length;)
        {
            int count = Math.Min(random.Next(0, 300), sent.Length - at);
            sent.AsSpan(at, count).CopyTo(pair.Output.GetSpan(count + random.Next(0, 2_000)));
            pair.Output.Advance(count);
            at += count;
        }

        await pair.Output.FlushAsync().InTime();
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task GetMemory_AfterFlush_DoesNotTouchWhatWasFlushed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using MemoryStream sent = new();
        for (int i = 0; i < 500; i++)
        {
            byte[] piece = Payload.Of(100, i);
            piece.CopyTo(pair.Output.GetMemory(100));
            pair.Output.Advance(100);
            ValueTask<FlushResult> flushing = pair.Output.FlushAsync();
            pair.Output.GetSpan(100).Fill(0xEE);
            await flushing.InTime();
            sent.Write(piece);
        }

        Payload.AssertEqual(sent.ToArray(), await pair.Client.ReceiveExactlyAsync((int)sent.Length));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bytes_NotFlushed_AreNotSent(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Output.GetSpan(3).Fill(1);
        pair.Output.Advance(3);

        // The other direction has passed meanwhile, and nothing came this way.
        await pair.Client.SendAllAsync(new byte[1]);
        await pair.Input.TakeAsync(1);
        Assert.Equal(0, pair.Client.Available);
        await pair.Output.FlushAsync().InTime();
        Assert.Equal([1, 1, 1], await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FlushAsync_TokenAlreadyCancelled_ThrowsAndKeepsTheBytes(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        "abc"u8.CopyTo(pair.Output.GetSpan(3));
        pair.Output.Advance(3);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => pair.Output.FlushAsync(new CancellationToken(canceled: true)).InTime());
        Assert.Equal(3, pair.Output.UnflushedBytes);
        await pair.Output.FlushAsync().InTime();
        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task WriteAsync_TokenAlreadyCancelled_ThrowsAndWritesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => pair.Output.WriteAsync("no"u8.ToArray(), new CancellationToken(canceled: true)).InTime());
        Assert.Equal(0, pair.Output.UnflushedBytes);
        await pair.Output.WriteAsync("yes"u8.ToArray()).InTime();
        await pair.Output.CompleteAsync().InTime();
        Assert.Equal("yes"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task WriteAsync_AfterReset_NothingIsKept(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Reset();
        while (!(await pair.Output.WriteAsync(new byte[1000]).InTime()).IsCompleted)
        {
            // The first ones may still go out.
        }

        for (int i = 0; i < 100; i++)
        {
            Assert.True((await pair.Output.WriteAsync(new byte[100_000]).InTime()).IsCompleted);
        }

        Assert.Equal(0, pair.Output.UnflushedBytes);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingFlush_SeveralTimesBeforeFlush_OnlyOneFlushIsCanceled(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Output.CancelPendingFlush();
        pair.Output.CancelPendingFlush();
        pair.Output.CancelPendingFlush();
        Assert.True((await pair.Output.WriteAsync(new byte[1]).InTime()).IsCanceled);
        Assert.False((await pair.Output.WriteAsync(new byte[1]).InTime()).IsCanceled);
        await pair.Client.ReceiveExactlyAsync(2);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingFlush_WhileFlushWaits_NextFlushWaitsAgain(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        pair.Output.CancelPendingFlush();
        Assert.True((await flushing.InTime()).IsCanceled);
        flushing = pair.Output.WriteAsync(new byte[100_000]).AsTask();
        Assert.False(flushing.IsCompleted);
        pair.Output.CancelPendingFlush();
        Assert.True((await flushing.InTime()).IsCanceled);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingFlush_AfterAbort_FlushReportsBoth(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        await pair.Server.DisposeAsync().InTime();
        pair.Output.CancelPendingFlush();
        FlushResult result = await pair.Output.FlushAsync().InTime();
        Assert.True(result.IsCanceled);
        Assert.True(result.IsCompleted);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Flush_TokenCancelledWhilePending_BytesAreSentAllTheSame(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        using CancellationTokenSource source = new();
        byte[] sent = Payload.Of(8 * 1024 * 1024);
        Task<FlushResult> flushing = pair.Output.WriteAsync(sent, source.Token).AsTask();
        Assert.False(flushing.IsCompleted);
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => flushing.InTime());
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CompleteAsync_WhileFlushWaits_BytesThenFin(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        byte[] sent = Payload.Of(8 * 1024 * 1024);
        Task<FlushResult> flushing = pair.Output.WriteAsync(sent).AsTask();
        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        await flushing.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task WriteAsync_OfManySmallPieces_ArrivesInOrder(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(20_000);
        Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(sent.Length);
        foreach (byte[] piece in sent.Chunk(7))
        {
            await pair.Output.WriteAsync(piece).InTime();
        }

        Payload.AssertEqual(sent, await receiving.InTime());
    }

    private static Task Do(Action action)
    {
        action();
        return Task.CompletedTask;
    }
}
