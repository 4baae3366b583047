using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>An application that flushes faster than its loop sends.</summary>
public sealed class ManyFlushesTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Flushes_BeforeTheLoopSends_ShareMemoryAndLeaveTogether(TransportKind kind)
    {
        using ManualResetEventSlim gate = new(initialState: true);
        using FaultKernel kernel = HeldBy(gate);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();
        Fault sends = kernel.Watch(OperationKind.Send);
        int before = sends.StrikeCount;

        gate.Reset();
        byte[] sent = Payload.Of(30_000);
        for (int offset = 0; offset < sent.Length; offset += 100)
        {
            await pair.Output.WriteAsync(sent.AsMemory(offset, 100)).AsTask().InTime();
        }

        gate.Set();
        Assert.Equal(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));

        // One with what was flushed before the loop came to the gate, and one with all the rest: 300 segments would take five.
        Assert.InRange(sends.StrikeCount - before, 1, 2);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Memory_BehindAFlushThatLeavesMeanwhile_CanStillBeWritten(TransportKind kind)
    {
        using ManualResetEventSlim gate = new(initialState: true);
        using FaultKernel kernel = HeldBy(gate);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();
        for (int round = 0; round < 20; round++)
        {
            gate.Reset();
            await pair.Output.WriteAsync(Payload.Of(100)).AsTask().InTime();
            Memory<byte> behind = pair.Output.GetMemory(50);
            gate.Set();
            Assert.Equal(Payload.Of(100), await pair.Client.ReceiveExactlyAsync(100));

            // Others take and write memory of the pool meanwhile.
            await using ConnectionPair other = await server.ConnectAsync();
            await other.AssertWorksAsync();
            Payload.Of(50).CopyTo(behind);
            pair.Output.Advance(50);
            await pair.Output.FlushAsync().AsTask().InTime();
            Assert.Equal(Payload.Of(50), await pair.Client.ReceiveExactlyAsync(50));
        }
    }

    private static FaultKernel HeldBy(ManualResetEventSlim gate) =>
        new() { OnEnter = _ => gate.Wait(Deadline.Limit) ? null : FaultKernel.Failure(Errno.EBADR) };
}
