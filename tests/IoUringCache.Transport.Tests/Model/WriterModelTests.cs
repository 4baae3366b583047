using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>The transport's writer against the writer of a <see cref="System.IO.Pipelines.Pipe"/>: random calls give the same on both.</summary>
public sealed class WriterModelTests
{
    private const int QuickCases = 300;
    private const int PauseAt = 100;

    private static readonly Gen<WriterStep> s_step = Gen.Frequency(
        (2, Sized(WriterCall.GetMemory, 0, 10_000)),
        (1, Plain(WriterCall.GetNegativeMemory)),
        (8, Sized(WriterCall.Fill, 0, 40)),
        (2, Sized(WriterCall.Fill, 41, 10_000)),
        (4, Sized(WriterCall.FillSpan, 0, 40)),
        (1, Plain(WriterCall.AdvanceTooFar)),
        (1, Plain(WriterCall.AdvanceBackwards)),
        (6, Sized(WriterCall.Write, 0, 60)),
        (3, Sized(WriterCall.WriteWithToken, 0, 60)),
        (1, Sized(WriterCall.WriteWithCancelledToken, 0, 60)),
        (10, Plain(WriterCall.Flush)),
        (4, Plain(WriterCall.FlushWithToken)),
        (1, Plain(WriterCall.FlushWithCancelledToken)),
        (4, Plain(WriterCall.CancelToken)),
        (8, Plain(WriterCall.CancelPendingFlush)),
        (1, Plain(WriterCall.Complete)),
        (12, Sized(WriterCall.Send, 1, 60)),
        (3, Sized(WriterCall.Send, 61, 10_000)),
        (1, Plain(WriterCall.Fail)));

    private static readonly Arbitrary<CallSequence<WriterStep>> s_sequences = CallSequence<WriterStep>.Of(s_step);

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Writer_RandomCalls_GivesWhatAPipeGives(TransportKind kind)
    {
        IoUringRequirement.Check();
        using FaultKernel kernel = new() { OnSend = _ => FaultKernel.Failure(Errno.EAGAIN) };
        EventLoopGroup group = await kernel.AcquireLoopsAsync(new EventLoopSettings(1, 8, 8, 512, Transports.SchedulingOf(kind))).InTime();
        Seeded.Check(s_sequences, QuickCases, sequence => WriterRun.RunAsync(group.Next(), PauseAt, sequence.Steps));
        await group.ReleaseAsync().InTime();
    }

    private static Gen<WriterStep> Plain(WriterCall call) => Gen.Constant(new WriterStep(call));

    private static Gen<WriterStep> Sized(WriterCall call, int from, int to) => Gen.Choose(from, to).Select(size => new WriterStep(call, size));
}
