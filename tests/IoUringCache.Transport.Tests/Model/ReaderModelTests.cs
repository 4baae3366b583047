using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>The transport's reader against the reader of a <see cref="System.IO.Pipelines.Pipe"/>: random calls give the same on both.</summary>
public sealed class ReaderModelTests
{
    private const int QuickCases = 300;
    private const int PauseAt = 100;

    private static readonly Gen<ReaderStep> s_step = Gen.Frequency(
        (12, Sized(ReaderCall.Append, 1, 40)),
        (2, Sized(ReaderCall.Append, 41, 300)),
        (1, Plain(ReaderCall.End)),
        (1, Plain(ReaderCall.Fail)),
        (10, Plain(ReaderCall.Read)),
        (4, Plain(ReaderCall.ReadWithToken)),
        (1, Plain(ReaderCall.ReadWithCancelledToken)),
        (8, Plain(ReaderCall.TryRead)),
        (2, Plain(ReaderCall.CancelToken)),
        (8, Plain(ReaderCall.CancelPendingRead)),
        (14, Advance()),
        (1, Plain(ReaderCall.AdvanceBackwards)),
        (1, Plain(ReaderCall.AdvanceElsewhere)),
        (2, Plain(ReaderCall.AdvanceNowhere)),
        (1, Plain(ReaderCall.Complete)));

    private static readonly Arbitrary<CallSequence<ReaderStep>> s_sequences = CallSequence<ReaderStep>.Of(s_step);

    [Theory]
    [MemberData(nameof(Transports.IoUring), MemberType = typeof(Transports))]
    public async Task Reader_RandomCalls_GivesWhatAPipeGives(TransportKind kind)
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(
            new EventLoopSettings(1, 8, 8, 512, Transports.SchedulingOf(kind))).InTime();
        Seeded.Check(s_sequences, QuickCases, sequence => ReaderRun.RunAsync(group.Next(), PauseAt, sequence.Steps));
        await group.ReleaseAsync().InTime();
    }

    private static Gen<ReaderStep> Plain(ReaderCall call) => Gen.Constant(new ReaderStep(call));

    private static Gen<ReaderStep> Sized(ReaderCall call, int from, int to) => Gen.Choose(from, to).Select(size => new ReaderStep(call, size));

    private static Gen<ReaderStep> Advance() =>
        from consumed in Gen.Elements(0, 0, 10, 50, 100)
        from examined in Gen.Elements(0, 50, 100, 100)
        select new ReaderStep(ReaderCall.Advance, consumed, examined);
}
