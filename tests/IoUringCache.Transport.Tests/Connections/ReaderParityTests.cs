using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The rules of <see cref="PipeReader"/> that Kestrel and middleware rely on, on every transport.</summary>
public sealed class ReaderParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingRead_WithPendingRead_EndsItAsCanceled(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        await Task.Run(pair.Input.CancelPendingRead).InTime();
        ReadResult result = await reading.InTime();
        Assert.True(result.IsCanceled);
        Assert.False(result.IsCompleted);
        Assert.True(result.Buffer.IsEmpty);
        pair.Input.AdvanceTo(result.Buffer.End);
        await AssertStillReceivesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingRead_WithoutPendingRead_IsKeptForTheNext(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Input.CancelPendingRead();
        ReadResult result = await pair.Input.ReadAsync().InTime();
        Assert.True(result.IsCanceled);
        pair.Input.AdvanceTo(result.Buffer.End);
        await AssertStillReceivesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingRead_BeforeTryRead_IsTaken(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        pair.Input.CancelPendingRead();
        Assert.True(pair.Input.TryRead(out ReadResult result));
        Assert.True(result.IsCanceled);
        pair.Input.AdvanceTo(result.Buffer.End);
        Assert.False(pair.Input.TryRead(out _));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task AdvanceTo_ExaminedBeforeEarlierExamined_NextReadCompletesAtOnce(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync(Payload.Of(100));
        ReadResult result = await pair.Input.ReadAtLeastAsync(100).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        await pair.Client.SendAllAsync(Payload.Of(1));
        result = await pair.Input.ReadAsync().InTime();
        Assert.Equal(101, result.Buffer.Length);

        SequencePosition taken = result.Buffer.GetPosition(10);
        pair.Input.AdvanceTo(taken, taken);
        result = await pair.Input.ReadAsync().InTime();
        Assert.Equal(91, result.Buffer.Length);
        pair.Input.AdvanceTo(result.Buffer.End);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ReadAsync_TokenCancelled_ThrowsAndReaderGoesOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        using CancellationTokenSource source = new();
        Task<ReadResult> reading = pair.Input.ReadAsync(source.Token).AsTask();
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.InTime());
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pair.Input.ReadAsync(source.Token).InTime());
        await AssertStillReceivesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ReadAsync_TokenCancelledAfterRead_ChangesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        using CancellationTokenSource first = new();
        Task<ReadResult> reading = pair.Input.ReadAsync(first.Token).AsTask();
        await pair.Client.SendAllAsync(new byte[1]);
        ReadResult result = await reading.InTime();
        pair.Input.AdvanceTo(result.Buffer.End);

        using CancellationTokenSource second = new();
        reading = pair.Input.ReadAsync(second.Token).AsTask();
        await first.CancelAsync().InTime();
        Assert.False(reading.IsCompleted);
        await pair.Client.SendAllAsync(new byte[1]);
        result = await reading.InTime();
        Assert.Equal(1, result.Buffer.Length);
        pair.Input.AdvanceTo(result.Buffer.End);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference("A second read at the same time throws on both; on the base library's pipe the first read is lost over it.")]
    public async Task ReadAsync_WhileReadIsPending_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        await Assert.ThrowsAsync<InvalidOperationException>(() => pair.Input.ReadAsync().InTime());
        await pair.Client.SendAllAsync(new byte[1]);
        Assert.Equal(1, (await reading.InTime()).Buffer.Length);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference(
        "Beside a read that waits, TryRead throws; on the base library's pipe it gives data that an earlier read had examined and a later "
        + "one has not.")]
    public async Task TryRead_BesideAReadWithExaminedData_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        pair.Input.CancelPendingRead();
        result = await pair.Input.ReadAsync().InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        Assert.Throws<InvalidOperationException>(() => pair.Input.TryRead(out _));
        await pair.Client.SendAllAsync("d"u8.ToArray());
        Assert.Equal("abcd"u8.ToArray(), pair.Input.TakeAll(await reading.InTime()));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task TryRead_WithoutData_ReturnsFalse(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.False(pair.Input.TryRead(out _));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task TryRead_AfterPeek_HasDataOffTheLoop(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start);
        (bool found, byte[] data) = await Task.Run(() =>
        {
            bool hasData = pair.Input.TryRead(out ReadResult read);
            byte[] copy = read.Buffer.ToArray();
            pair.Input.AdvanceTo(read.Buffer.End);
            return (hasData, copy);
        }).InTime();
        Assert.True(found);
        Assert.Equal("abc"u8.ToArray(), data);
        Assert.False(pair.Input.TryRead(out _));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Complete_ThenUse_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync(new byte[1]);
        ReadResult result = await pair.Input.ReadAsync().InTime();
        SequencePosition end = result.Buffer.End;
        pair.Input.AdvanceTo(result.Buffer.Start);
        pair.Input.Complete();
        pair.Input.Complete();
        await Assert.ThrowsAsync<InvalidOperationException>(() => pair.Input.ReadAsync().InTime());
        Assert.Throws<InvalidOperationException>(() => pair.Input.TryRead(out _));
        Assert.Throws<InvalidOperationException>(() => pair.Input.AdvanceTo(end));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task AdvanceTo_ExaminedBeforeConsumed_Throws(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync(new byte[10]);
        ReadResult result = await pair.Input.ReadAtLeastAsync(10).InTime();
        Assert.Throws<InvalidOperationException>(() => pair.Input.AdvanceTo(result.Buffer.End, result.Buffer.Start));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ReadAtLeast_OverManySegments_HasAll(TransportKind kind)
    {
        // More than the limit: every part is examined, so the receive goes on.
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();

        byte[] sent = Payload.Of(200_000);
        Task sending = pair.Client.SendAllAsync(sent);
        ReadResult result = await pair.Input.ReadAtLeastAsync(sent.Length).InTime();
        Payload.AssertEqual(sent, result.Buffer.ToArray());

        // ReadAtLeastAsync examined what it saw before the last read: consuming a little of it is allowed.
        pair.Input.AdvanceTo(result.Buffer.GetPosition(1));
        result = await pair.Input.ReadAsync().InTime();
        Assert.Equal(sent.Length - 1, result.Buffer.Length);
        pair.Input.AdvanceTo(result.Buffer.End);
        await sending;
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ReadAtLeast_PeerEndsEarly_ReturnsWhatThereIs(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        pair.Client.Dispose();
        ReadResult result = await pair.Input.ReadAtLeastAsync(10).InTime();
        Assert.True(result.IsCompleted);
        Assert.Equal("abc"u8.ToArray(), result.Buffer.ToArray());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CopyToAsync_UntilFin_HasAll(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        byte[] sent = Payload.Of(300_000);
        using MemoryStream copy = new();
        Task copying = pair.Input.CopyToAsync(copy);
        await pair.Client.SendAllAsync(sent);
        pair.Client.Dispose();
        await copying.InTime();
        Payload.AssertEqual(sent, copy.ToArray());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task AsStream_ReadsAndWrites_Bytes(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await using Stream input = pair.Input.AsStream(leaveOpen: true);
        await using Stream output = pair.Output.AsStream(leaveOpen: true);
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        byte[] buffer = new byte[3];
        await input.ReadExactlyAsync(buffer).InTime();
        await output.WriteAsync(buffer).InTime();
        await output.FlushAsync().InTime();
        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference(
        "ReadAtLeastAsync counts all bytes that the result has, and those that it has looked at count as examined; the base library's pipe "
        + "counts those that were not examined, and what it has looked at is none of them.")]
    public async Task ReadAtLeast_WithExaminedData_CountsTheWholeResult(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("abcd"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(4).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.GetPosition(2));
        Assert.Equal(4, (await pair.Input.ReadAtLeastAsync(4).InTime()).Buffer.Length);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference(
        "A read that waits when the reader is completed, and ends later, has no data: that is the kernel's again; the base library's pipe "
        + "keeps it until both of its ends are completed.")]
    public async Task Complete_WhileAReadWaits_ReadEndsWithoutData(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.Client.SendAllAsync("abc"u8.ToArray());
        ReadResult result = await pair.Input.ReadAtLeastAsync(3).InTime();
        pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        Task<ReadResult> reading = pair.Input.ReadAsync().AsTask();
        pair.Input.Complete();
        pair.Input.CancelPendingRead();
        result = await reading.InTime();
        Assert.True(result.IsCanceled);
        Assert.True(result.Buffer.IsEmpty);
    }

    private static async Task AssertStillReceivesAsync(ConnectionPair pair)
    {
        await pair.Client.SendAllAsync("more"u8.ToArray());
        Assert.Equal("more"u8.ToArray(), await pair.Input.TakeAsync(4));
    }
}
