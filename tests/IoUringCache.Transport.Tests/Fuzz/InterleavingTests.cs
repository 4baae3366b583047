using System.Diagnostics;
using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Transport.Tests.Support;
using Microsoft.FSharp.Core;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>
/// Random interleavings of data, ends, cancellations, aborts, flushes and disposals, against a model of what each side may see. Kestrel's
/// Sockets transport passes too, so the model asks for nothing that it does not give.
/// <para>
/// <c>FUZZ_CASES=N</c> runs that many cases instead of a quick few. A failure prints the smallest case that still fails, and the numbers
/// that bring the failing one back: <c>FUZZ_SEED=SEED,GAMMA,SIZE</c>; <c>FUZZ_SEED=SEED</c> with the same number of cases repeats a
/// whole run.
/// </para>
/// </summary>
public sealed class InterleavingTests
{
    private const int QuickCases = 50;
    private const int RunsWhileShrinking = 3;

    private static readonly TimeSpan s_shrinkingLimit = TimeSpan.FromSeconds(60);

    private readonly ITestOutputHelper _output;

    public InterleavingTests(ITestOutputHelper output) => _output = output;

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

        int cases = int.Parse(Environment.GetEnvironmentVariable("FUZZ_CASES") ?? $"{QuickCases}", CultureInfo.InvariantCulture);
        string seed = Environment.GetEnvironmentVariable("FUZZ_SEED") ?? $"{Random.Shared.NextInt64()}";
        _output.WriteLine($"FUZZ_SEED={seed} FUZZ_CASES={cases}");
        Stopwatch sinceFailure = new();
        Config config = Config.QuickThrowOnFailure.WithMaxTest(cases).WithReplay(ReplayOf(seed));
        Check.One(config, Prop.ForAll(FuzzGenerators.Cases, fuzzCase => RunAsync(kind, fuzzCase, sinceFailure)));
    }

    /// <summary>
    /// What failed once need not fail at every try: a smaller case gets several. And where cases fail by hanging, shrinking must end.
    /// </summary>
    private static async Task RunAsync(TransportKind kind, FuzzCase fuzzCase, Stopwatch sinceFailure)
    {
        int runs = !sinceFailure.IsRunning ? 1 : sinceFailure.Elapsed < s_shrinkingLimit ? RunsWhileShrinking : 0;
        for (int run = 0; run < runs; run++)
        {
            await ProcessState.LoopsEndedAsync();
            int descriptors = ProcessState.DescriptorCount;
            try
            {
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
            catch
            {
                sinceFailure.Start();
                throw;
            }
        }
    }

    private static FSharpOption<Replay> ReplayOf(string seed)
    {
        string[] parts = seed.Trim('(', ')').Split(',');
        ulong first = ulong.Parse(parts[0], CultureInfo.InvariantCulture);
        return FSharpOption<Replay>.Some(parts.Length == 1
            ? new Replay(new Rnd(first), FSharpOption<int>.None)
            : new Replay(new Rnd(first, ulong.Parse(parts[1], CultureInfo.InvariantCulture)), int.Parse(parts[2], CultureInfo.InvariantCulture)));
    }
}
