using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Cancelled reads, by call and by token, before, while and after something else happens.</summary>
public sealed class ReaderCancelParityTests
{
    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_SeveralTimesBeforeRead_OnlyOneReadIsCanceled(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Input.CancelPendingRead();
        pair.Input.CancelPendingRead();
        pair.Input.CancelPendingRead();
        Assert.True(await ReadIsCanceledAsync(pair.Input));
        await pair.Client.SendAllAsync(new byte[1]);
        Assert.False(await ReadIsCanceledAsync(pair.Input));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_WhileAndAfterAPendingRead_OneEachIsCanceled(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Input.CancelPendingRead();
        ReadResult result = await reading.InTime();
        Assert.True(result.IsCanceled);
        pair.Input.CancelPendingRead();
        pair.Input.AdvanceTo(result.Buffer.End);
        Assert.True(await ReadIsCanceledAsync(pair.Input));
        await pair.Client.SendAllAsync(new byte[1]);
        Assert.False(await ReadIsCanceledAsync(pair.Input));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_WithUnexaminedData_ResultHasBoth(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        pair.Input.CancelPendingRead();
        result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCanceled);
        Assert.Equal("abc"u8.ToArray(), result.Buffer.ToArray());
        pair.Input.AdvanceTo(result.Buffer.Start);
        result = await pair.Input.ReadAsync().InTime();
        Assert.False(result.IsCanceled);
        Assert.Equal("abc"u8.ToArray(), pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_ResultIsIgnored_NextReadWaitsWithoutAnAdvance(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Input.CancelPendingRead();
        Assert.True((await reading.InTime()).IsCanceled);

        reading = pair.Input.ReadAsync().AsTask();
        Assert.False(reading.IsCompleted);
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await reading.InTime();
        Assert.False(result.IsCanceled);
        pair.Input.AdvanceTo(result.Buffer.Start);
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_ResultWithDataIsIgnored_NextReadHasTheDataToo(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        pair.Input.CancelPendingRead();
        Assert.True((await pair.Input.ReadAsync().InTime()).IsCanceled);
        Assert.True(pair.Input.TryRead(out result));
        Assert.False(result.IsCanceled);
        Assert.Equal("abc"u8.ToArray(), result.Buffer.ToArray());

        // That result was not cancelled: it has to be advanced first.
        Assert.Throws<InvalidOperationException>(() => pair.Input.TryRead(out _));
        pair.Input.AdvanceTo(result.Buffer.End);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_WithExaminedData_ResultHasItAndNextReadWaitsForMore(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        pair.Input.CancelPendingRead();
        result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCanceled);
        Assert.Equal("abc"u8.ToArray(), result.Buffer.ToArray());

        // Examined less than before: what is to be seen has been seen all the same.
        pair.Input.AdvanceTo(result.Buffer.Start);
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        Assert.False(reading.IsCompleted);
        await pair.Client.SendAllAsync("d"u8.ToArray());
        result = await reading.InTime();
        Assert.Equal("abcd"u8.ToArray(), pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    [DeliberateDifference(
        "A read that is refused, because a result was not advanced, changes nothing; on the base library's pipe it loses the cancellation "
        + "that was kept for the next read.")]
    public async Task CancelPendingRead_ThenReadIsRefused_IsKept(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync(new byte[1]);
        ReadResult result = await pair.Input.ReadAsync().InTime();
        pair.Input.CancelPendingRead();
        await Assert.ThrowsAsync<InvalidOperationException>(() => pair.Input.ReadAsync().InTime());
        pair.Input.AdvanceTo(result.Buffer.End);
        Assert.True(await ReadIsCanceledAsync(pair.Input));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_AfterPeersFin_ResultIsCanceledAndCompleted(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Shutdown(SocketShutdown.Send);
        Assert.Empty(await pair.Input.TakeToEndAsync());
        pair.Input.CancelPendingRead();
        ReadResult result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCanceled);
        Assert.True(result.IsCompleted);
        pair.Input.AdvanceTo(result.Buffer.End);
        Assert.False(await ReadIsCanceledAsync(pair.Input));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_AfterAbort_ReadThrowsTheReason(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Abort();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        pair.Input.CancelPendingRead();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        Assert.Throws<ConnectionAbortedException>(() => pair.Input.TryRead(out _));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_AfterComplete_DoesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Input.Complete();
        pair.Input.CancelPendingRead();
        await pair.Output.WriteAsync("bye"u8.ToArray()).InTime();
        Assert.Equal("bye"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Dispose_WhileAReadWaits_ReadThrowsTheReasonOfTheEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        await pair.Server.DisposeAsync().InTime();
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => reading.InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_OfReadAtLeast_ReturnsWhatThereIs(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        Task<ReadResult> reading = pair.Input.ReadAtLeastAsync(10).AsTask();
        Assert.False(reading.IsCompleted);
        pair.Input.CancelPendingRead();
        result = await reading.InTime();
        Assert.True(result.IsCanceled);
        Assert.Equal("abc"u8.ToArray(), pair.Input.TakeAll(result));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CancelPendingRead_FromManyThreadsWhileDataComes_NoByteIsLost(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(500_000);
        Task sending = pair.Client.SendAllAsync(sent);
        Task cancelling = Task.Run(() => Parallel.For(0, 2_000, _ => pair.Input.CancelPendingRead()));
        using MemoryStream received = new();
        while (received.Length < sent.Length)
        {
            ReadResult result = await pair.Input.ReadAsync().InTime();
            received.Write(pair.Input.TakeAll(result));
        }

        await sending.InTime();
        await cancelling.InTime();
        Payload.AssertEqual(sent, received.ToArray());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ReadAsync_TokenAlreadyCancelledWithData_ThrowsAndKeepsTheData(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => pair.Input.ReadAsync(new CancellationToken(canceled: true)).InTime());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ReadAsync_TokenCancelledWhilePending_ExceptionNamesTheToken(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using CancellationTokenSource source = new();
        Task<ReadResult> reading = pair.Input.ReadAsync(source.Token).AsTask();
        await source.CancelAsync().InTime();
        OperationCanceledException exception = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.InTime());
        Assert.Equal(source.Token, exception.CancellationToken);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ReadAsync_OverAndOverWithTokensThatAreCancelled_NoByteIsLost(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(300_000);
        Task sending = Task.Run(async () =>
        {
            foreach (byte[] piece in sent.Chunk(1_000))
            {
                await pair.Client.SendAllAsync(piece);
            }
        });
        using MemoryStream received = new();
        while (received.Length < sent.Length)
        {
            using CancellationTokenSource source = new();
            Task<ReadResult> reading = pair.Input.ReadAsync(source.Token).AsTask();
            Task cancelling = source.CancelAsync();
            try
            {
                received.Write(pair.Input.TakeAll(await reading.InTime()));
            }
            catch (OperationCanceledException)
            {
                // The next read has what this one would have had.
            }

            await cancelling.InTime();
        }

        await sending.InTime();
        Payload.AssertEqual(sent, received.ToArray());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CopyToAsync_TokenCancelled_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using CancellationTokenSource source = new();
        Task copying = pair.Input.CopyToAsync(Stream.Null, source.Token);
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => copying.InTime());
    }

    private static async Task<bool> ReadIsCanceledAsync(PipeReader input)
    {
        ReadResult result = await input.ReadAsync().InTime();
        input.AdvanceTo(result.Buffer.End);
        return result.IsCanceled;
    }
}
