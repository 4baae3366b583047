using System.IO.Pipelines;
using System.Net.Sockets;
using System.Text.Json;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The rules of <see cref="PipeWriter"/> that Kestrel and middleware rely on, on every transport.</summary>
public sealed class WriterParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetMemory_TwiceWithoutAdvance_SameStart(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Output.GetSpan(4).Fill(1);
        Memory<byte> again = pair.Output.GetMemory(4);
        Assert.Equal([1, 1, 1, 1], again.Span[..4].ToArray());
        again.Span[0] = 7;
        pair.Output.Advance(4);
        await pair.Output.FlushAsync().InTime();
        Assert.Equal([7, 1, 1, 1], await pair.Client.ReceiveExactlyAsync(4));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetMemory_OfAnySizeHint_HoldsIt(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        using MemoryStream expected = new();
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        foreach (int size in new[] { 0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 1024 * 1024, 3, 0 })
        {
            Memory<byte> memory = pair.Output.GetMemory(size);
            Assert.True(memory.Length >= Math.Max(1, size), $"{memory.Length} bytes for a hint of {size}.");
            byte[] data = Payload.Of(size, size);
            data.CopyTo(memory);
            pair.Output.Advance(size);
            expected.Write(data);
        }

        Assert.Equal(expected.Length, pair.Output.UnflushedBytes);
        await pair.Output.FlushAsync().InTime();
        Assert.Equal(0, pair.Output.UnflushedBytes);
        await pair.Output.CompleteAsync().InTime();
        Payload.AssertEqual(expected.ToArray(), await receiving.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetMemory_LargerHintAfterUnusedSmaller_SendsOnlyWhatWasAdvanced(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Output.GetMemory(1).Span[0] = 99;
        byte[] data = Payload.Of(10_000);
        data.CopyTo(pair.Output.GetMemory(data.Length));
        pair.Output.Advance(data.Length);
        await pair.Output.FlushAsync().InTime();
        Payload.AssertEqual(data, await pair.Client.ReceiveExactlyAsync(data.Length));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Advance_BeyondMemory_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        int length = pair.Output.GetMemory().Length;
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Output.Advance(length + 1));
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Output.Advance(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => pair.Output.GetMemory(-1));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task UnflushedBytes_CountsAdvances(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Assert.True(pair.Output.CanGetUnflushedBytes);
        Assert.Equal(0, pair.Output.UnflushedBytes);
        pair.Output.GetSpan(10);
        pair.Output.Advance(7);
        Assert.Equal(7, pair.Output.UnflushedBytes);
        await pair.Output.FlushAsync().InTime();
        Assert.Equal(0, pair.Output.UnflushedBytes);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task JsonSerializer_WritesToPipe(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        int[] numbers = [.. Enumerable.Range(0, 20_000)];
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        await JsonSerializer.SerializeAsync(pair.Output, numbers).InTime();
        await pair.Output.CompleteAsync().InTime();
        Assert.Equal(numbers, JsonSerializer.Deserialize<int[]>(await receiving.InTime()));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_WithoutBytes_Completes(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        FlushResult result = await pair.Output.FlushAsync().InTime();
        Assert.False(result.IsCompleted);
        Assert.False(result.IsCanceled);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_AfterAbort_CompletesWithoutThrowing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        pair.Output.GetMemory(100_000);
        pair.Output.Advance(100_000);
        Assert.True((await pair.Output.FlushAsync().InTime()).IsCompleted);
        Assert.True((await pair.Output.WriteAsync(new byte[1]).InTime()).IsCompleted);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingFlush_WithPendingFlush_EndsItAsCanceledAndBytesAreSent(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        pair.Output.CancelPendingFlush();
        FlushResult result = await flushing.InTime();
        Assert.True(result.IsCanceled);
        Assert.False(result.IsCompleted);

        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        await pair.Output.CompleteAsync().InTime();
        byte[] received = await receiving.InTime();
        Assert.Equal(0, received.Length % (256 * 1024));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingFlush_WithoutPendingFlush_IsKeptForTheNext(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Output.CancelPendingFlush();
        Assert.True((await pair.Output.WriteAsync(new byte[1]).InTime()).IsCanceled);
        Assert.False((await pair.Output.WriteAsync(new byte[1]).InTime()).IsCanceled);
        await pair.Client.ReceiveExactlyAsync(2);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_TokenCancelledWhilePending_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        await FillAsync(pair);
        using CancellationTokenSource source = new();
        Task<FlushResult> flushing = pair.Output.WriteAsync(new byte[100_000], source.Token).AsTask();
        Assert.False(flushing.IsCompleted);
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => flushing.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_TokenCancelledBefore_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        using CancellationTokenSource source = new();
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pair.Output.FlushAsync(source.Token).InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Complete_ThenGetMemory_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Output.Complete();
        pair.Output.Complete();
        Assert.Throws<InvalidOperationException>(() => pair.Output.GetMemory());
        Assert.Throws<InvalidOperationException>(() => pair.Output.GetSpan());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Complete_WithError_ClientSeesNoOrderlyEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Output.Complete(new IOException("broken off"));
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_UpToLimitWithoutReader_WaitsAndGoesOnWhenClientReads(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxWriteBufferSize = 10_000);
        await using ConnectionPair pair = await server.ConnectAsync(SmallWindows);

        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();
        Assert.False((await flushing.InTime()).IsCompleted);
        await pair.Output.CompleteAsync().InTime();

        byte[] block = Payload.Of(256 * 1024);
        byte[] received = await receiving.InTime();
        Assert.True(received.Length >= block.Length);
        for (int at = 0; at < received.Length; at += block.Length)
        {
            Payload.AssertEqual(block, received[at..Math.Min(received.Length, at + block.Length)]);
        }
    }

    private static async Task FillAsync(ConnectionPair pair)
    {
        Task<FlushResult> flushing = await pair.Server.FlushUntilItWaitsAsync();
        pair.Output.CancelPendingFlush();
        Assert.True((await flushing.InTime()).IsCanceled);
    }

    private static void SmallWindows(Socket client) => client.ReceiveBufferSize = 4096;
}
