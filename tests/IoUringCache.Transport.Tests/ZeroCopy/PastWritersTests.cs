using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Tests.ZeroCopy;

/// <summary>Zero-copy bytes that go past the writers which wrap the connection's own: when they may, and in which order.</summary>
public sealed class PastWritersTests
{
    private const int Length = 5000;

    /// <summary>More than the sockets of both sides hold.</summary>
    private const int Much = 32 * 1024 * 1024;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_NothingInItsWay_IsDone(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Assert.True(TryFlush(pair, Payload.Of(Length), out FlushResult result, out bool mustWait));

        Assert.False(mustWait);
        Assert.False(result.IsCompleted);
        Assert.False(result.IsCanceled);
        Payload.AssertEqual(Payload.Of(Length), await pair.Client.ReceiveExactlyAsync(Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_BytesOfTheWriterAreNotFlushed_WritesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Payload.Of(3).CopyTo(pair.Output.GetMemory(3));
        pair.Output.Advance(3);

        Assert.False(TryFlush(pair, Payload.Of(Length, seed: 2), out _, out _));

        await pair.Output.FlushAsync().InTime();
        Assert.True(TryFlush(pair, Payload.Of(Length), out _, out _));
        Payload.AssertEqual(Payload.Of(3), await pair.Client.ReceiveExactlyAsync(3));
        Payload.AssertEqual(Payload.Of(Length), await pair.Client.ReceiveExactlyAsync(Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_AnotherWaits_WritesNothing(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        ValueTask<FlushResult> waiting = pair.Output.WriteAsync(Payload.Of(Much));
        Assert.False(waiting.IsCompleted);

        Assert.False(TryFlush(pair, Payload.Of(Length, seed: 2), out _, out _));

        Payload.AssertEqual(Payload.Of(Much), await pair.Client.ReceiveExactlyAsync(Much));
        await waiting.InTime();
        Assert.True(TryFlush(pair, Payload.Of(Length), out _, out _));
        Payload.AssertEqual(Payload.Of(Length), await pair.Client.ReceiveExactlyAsync(Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_OverTheLimit_SaysThatTheCallerMustWait(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        Assert.True(TryFlush(pair, Payload.Of(Much), out _, out bool mustWait));

        Assert.True(mustWait);
        IZeroCopyFeature connection = pair.Server.Features.Get<IZeroCopyFeature>()!;
        Assert.InRange(connection.UnsentBytes, 1, Much);
        Payload.AssertEqual(Payload.Of(Much), await pair.Client.ReceiveExactlyAsync(Much));
        await Deadline.UntilAsync(() => connection.UnsentBytes == 0, () => $"{connection.UnsentBytes} bytes are unsent.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_CancelIsPending_TellsOfItOnce(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Output.CancelPendingFlush();

        Assert.True(TryFlush(pair, Payload.Of(Length), out FlushResult first, out _));
        Assert.True(TryFlush(pair, Payload.Of(Length), out FlushResult second, out _));

        Assert.True(first.IsCanceled);
        Assert.False(second.IsCanceled);
        await pair.Client.ReceiveExactlyAsync(2 * Length);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flush_AfterAnAbort_TellsOfTheEndAndReleasesTheMemory(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Abort();
        await pair.Client.AssertResetAsync();

        WeakReference memory = FlushWeakly(pair, out FlushResult result);

        Assert.True(result.IsCompleted);
        GC.Collect();
        Assert.False(memory.IsAlive);
    }

    [Fact]
    public async Task Flush_AfterTheWriterWasCompleted_WritesNothing()
    {
        await using TransportServer server = await TransportServer.StartAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.Output.CompleteAsync().InTime();

        Assert.False(TryFlush(pair, Payload.Of(Length), out _, out _));

        Assert.Empty(await pair.Client.ReceiveToEndAsync());
    }

    /// <summary>A frame of its own, so that nothing but the transport keeps the memory.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference FlushWeakly(ConnectionPair pair, out FlushResult result)
    {
        byte[] memory = new byte[Length];
        Assert.True(TryFlush(pair, memory, out result, out _));
        return new WeakReference(memory);
    }

    private static bool TryFlush(ConnectionPair pair, byte[] memory, out FlushResult result, out bool mustWait) =>
        pair.Server.Features.Get<IZeroCopyFeature>()!.TryFlush(ZeroCopySource.Of(memory), out result, out mustWait);
}
