using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>Makes cases, longer ones later in a run, and smaller ones of a case that failed.</summary>
internal static class FuzzGenerators
{
    private const int MaxConnections = 6;
    private const int ShortestScript = 5;

    private static readonly Gen<Step> s_step = Gen.Frequency(
        (14, Sized(StepKind.ClientSend, 1, 6000)),
        (3, Sized(StepKind.ClientSend, 1, 40_000)),
        (3, Sized(StepKind.ClientSend, 1, 3)),
        (12, Sized(StepKind.ClientReceive, 1, 10_000)),
        (1, Plain(StepKind.ClientFin)),
        (1, Plain(StepKind.ClientReset)),
        (14, Plain(StepKind.Read)),
        (4, Plain(StepKind.ReadWithToken)),
        (3, Plain(StepKind.CancelReadToken)),
        (4, Plain(StepKind.CancelPendingRead)),
        (10, Plain(StepKind.AwaitRead)),
        (16, Advance()),
        (1, Plain(StepKind.CompleteInput)),
        (1, Plain(StepKind.FailInput)),
        (10, Sized(StepKind.Write, 1, 6000)),
        (3, Sized(StepKind.Write, 1, 100_000)),
        (1, Sized(StepKind.GetMemory, 0, 5000)),
        (10, Plain(StepKind.Flush)),
        (4, Plain(StepKind.FlushWithToken)),
        (3, Plain(StepKind.CancelFlushToken)),
        (4, Plain(StepKind.CancelPendingFlush)),
        (1, Plain(StepKind.CompleteOutput)),
        (1, Plain(StepKind.FailOutput)),
        (1, Plain(StepKind.Abort)),
        (1, Plain(StepKind.Dispose)),
        (12, Sized(StepKind.Pause, 1, 20)));

    /// <summary>Most ends are in order: those say most.</summary>
    private static readonly Gen<Ending> s_ending = Gen.Elements(
        Ending.Drain, Ending.Drain, Ending.Drain, Ending.Drain, Ending.Dispose, Ending.Abort, Ending.ClientReset);

    internal static Arbitrary<FuzzCase> Cases { get; } = Arb.From(
        from limits in Gen.Elements(FuzzLimits.Names)
        from count in Gen.Choose(1, MaxConnections)
        from scripts in Gen.ListOf(Scripts(), count)
        select new FuzzCase(limits, scripts),
        Shrink);

    private static Gen<Script> Scripts() => Gen.Sized(size =>
        from count in Gen.Choose(1, ShortestScript + size)
        from steps in Gen.ListOf(s_step, count)
        from ending in s_ending
        select new Script(steps, ending));

    private static Gen<Step> Plain(StepKind kind) => Gen.Constant(new Step(kind));

    private static Gen<Step> Sized(StepKind kind, int from, int to) => Gen.Choose(from, to).Select(size => new Step(kind, size));

    private static Gen<Step> Advance() =>
        from consumed in Gen.Elements(0, 10, 50, 90, 100, 100)
        from examined in Gen.Elements(0, 50, 100, 100, 100)
        select new Step(StepKind.Advance, consumed, examined);

    /// <summary>Without a connection, then without a part of the steps of one: the halves first, single steps last.</summary>
    private static IEnumerable<FuzzCase> Shrink(FuzzCase failed)
    {
        for (int i = 0; i < failed.Scripts.Count && failed.Scripts.Count > 1; i++)
        {
            yield return failed with { Scripts = [.. failed.Scripts.Where((_, index) => index != i)] };
        }

        for (int i = 0; i < failed.Scripts.Count; i++)
        {
            foreach (Script smaller in Shrink(failed.Scripts[i]))
            {
                yield return failed with { Scripts = [.. failed.Scripts.Select((script, index) => index == i ? smaller : script)] };
            }
        }
    }

    private static IEnumerable<Script> Shrink(Script failed) => Seeded.Shorten(failed.Steps).Select(steps => failed with { Steps = steps });
}
