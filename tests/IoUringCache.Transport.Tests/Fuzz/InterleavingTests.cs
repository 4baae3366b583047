using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>
/// Random interleavings of data, ends, cancellations, aborts, flushes and disposals, against a model of what each side may see. Kestrel's
/// Sockets transport passes too, so the model asks for nothing that it does not give. <see cref="Seeded"/> says how to repeat a failure.
/// </summary>
public sealed class InterleavingTests
{
    private const int QuickCases = 50;
    private const int RunsWhileShrinking = 3;

    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Interleavings_OfEverything_FollowTheModel(TransportKind kind)
    {
        if (kind != TransportKind.Sockets)
        {
            IoUringRequirement.Check();
        }

        // What the runtime opens once, for its own sockets, is open before descriptors are counted.
        await CaseRun.RunAsync(kind, new FuzzCase("wide", [new Script([new Step(StepKind.ClientSend, 1)], Ending.Drain)]));

        Seeded.Check(FuzzGenerators.Cases, QuickCases, fuzzCase => RunAsync(kind, fuzzCase), RunsWhileShrinking);
    }

    private static async Task RunAsync(TransportKind kind, FuzzCase fuzzCase)
    {
        await ProcessState.LoopsEndedAsync();
        int descriptors = ProcessState.DescriptorCount;
        await CaseRun.RunAsync(kind, fuzzCase);
        if (kind == TransportKind.Sockets)
        {
            // That transport leaves some sockets to their finalizers.
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        await ProcessState.LoopsEndedAsync();
        await Deadline.UntilAsync(
            () => ProcessState.DescriptorCount <= descriptors,
            () => $"{ProcessState.DescriptorCount} descriptors are open, {descriptors} were before.");
    }
}
