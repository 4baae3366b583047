using System.Buffers;
using System.IO.Pipelines;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Tests.ZeroCopy;

/// <summary>An offer of zero-copy memory against writers that do not pass calls through as they came.</summary>
public sealed class ZeroCopyOfferTests
{
    private const int Length = 5000;

    /// <summary>What somebody else does between the offer and its use; the offer must be gone, and later bytes in order.</summary>
    private static readonly Dictionary<string, Func<PipeWriter, Task>> s_otherCalls = new()
    {
        ["another length"] = async output =>
        {
            Payload.Of(3).CopyTo(output.GetMemory(3));
            output.Advance(3);
            await output.FlushAsync().InTime();
        },
        ["a span"] = async output =>
        {
            Payload.Of(3).CopyTo(output.GetSpan(Length));
            output.Advance(3);
            await output.FlushAsync().InTime();
        },
        ["a flush"] = async output =>
        {
            await output.FlushAsync().InTime();
            Payload.Of(3).CopyTo(output.GetMemory(Length));
            output.Advance(3);
            await output.FlushAsync().InTime();
        },
        ["an advance over nothing"] = async output =>
        {
            output.Advance(0);
            Payload.Of(3).CopyTo(output.GetMemory(Length));
            output.Advance(3);
            await output.FlushAsync().InTime();
        },
        ["another thread"] = async output =>
        {
            Thread other = new(() =>
            {
                Payload.Of(3).CopyTo(output.GetMemory(Length));
                output.Advance(3);
            });
            other.Start();
            Assert.True(other.Join(Deadline.Limit));
            await output.FlushAsync().InTime();
        },
    };

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<string> OtherCalls => [.. s_otherCalls.Keys];

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Write_ThroughTheWriterItself_SendsTheMemory(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] memory = Payload.Of(Length);
        Assert.True(TryWrite(pair, pair.Output, memory));
        Assert.Equal(Length, pair.Output.UnflushedBytes);
        await pair.Output.FlushAsync().InTime();
        Payload.AssertEqual(memory, await pair.Client.ReceiveExactlyAsync(Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Write_ThroughAWriterThatBuffers_WritesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        PipeWriter buffering = PipeWriter.Create(pair.Output.AsStream());
        Assert.False(TryWrite(pair, buffering, Payload.Of(Length)));
        await pair.Output.WriteAsync(Payload.Of(3)).InTime();
        Payload.AssertEqual(Payload.Of(3), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(OtherCalls))]
    public async Task Offer_FollowedByOtherCalls_IsGone(string calls)
    {
        await using TransportServer server = await TransportServer.StartAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        ((ConnectionWriter)pair.Output).Offer(ZeroCopySource.Of(Payload.Of(Length, seed: 2)));
        await s_otherCalls[calls](pair.Output);
        Payload.AssertEqual(Payload.Of(3), await pair.Client.ReceiveExactlyAsync(3));
        await pair.Output.CompleteAsync().InTime();
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
    }

    [Fact]
    public async Task Advance_OverPartOfAnOfferedRange_ThrowsAndWritesNothing()
    {
        await using TransportServer server = await TransportServer.StartAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        ((ConnectionWriter)pair.Output).Offer(ZeroCopySource.Of(Payload.Of(Length)));
        _ = pair.Output.GetMemory(Length);
        Assert.Throws<InvalidOperationException>(() => pair.Output.Advance(Length - 1));
        await pair.Output.CompleteAsync().InTime();
        Assert.Empty(await pair.Client.ReceiveToEndAsync());
    }

    [Fact]
    public async Task Memory_WrittenToWhatStandsForIt_IsUnharmed()
    {
        await using TransportServer server = await TransportServer.StartAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] memory = Payload.Of(Length);
        ((ConnectionWriter)pair.Output).Offer(ZeroCopySource.Of(memory));
        pair.Output.GetMemory(Length).Span.Clear();
        pair.Output.Advance(Length);
        await pair.Output.FlushAsync().InTime();
        Payload.AssertEqual(Payload.Of(Length), memory);
        Payload.AssertEqual(memory, await pair.Client.ReceiveExactlyAsync(Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task FileBackedMemory_DisposedAfterTheWrite_ArrivesAndTheLoopGoesOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await using ConnectionPair other = await server.ConnectAsync();
        Assert.True(FileBackedMemory.TryAllocate(Length, out IMemoryOwner<byte>? owner));
        byte[] sent = Payload.Of(Length);
        sent.CopyTo(owner.Memory);
        IZeroCopyFeature connection = pair.Server.Features.Get<IZeroCopyFeature>()!;

        Assert.True(ZeroCopyOffer.TryWrite(connection, pair.Output, ZeroCopySource.Of(owner.Memory)));
        owner.Dispose();
        await pair.Output.FlushAsync().InTime();

        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(Length));
        await other.Output.WriteAsync(sent).InTime();
        Payload.AssertEqual(sent, await other.Client.ReceiveExactlyAsync(Length));
    }

    private static bool TryWrite(ConnectionPair pair, PipeWriter writer, byte[] memory) =>
        ZeroCopyOffer.TryWrite(pair.Server.Features.Get<IZeroCopyFeature>()!, writer, ZeroCopySource.Of(memory));
}
