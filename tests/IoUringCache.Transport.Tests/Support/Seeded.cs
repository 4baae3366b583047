using System.Diagnostics;
using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// Runs of random cases that can be repeated. Each prints its seed, and a failure the smallest case that still fails.
/// <c>FUZZ_CASES=N</c> runs that many cases, <c>FUZZ_SEED=SEED</c> with the same number of cases repeats a run, and
/// <c>FUZZ_SEED=SEED,GAMMA,SIZE</c>, which a failure prints, repeats its case.
/// </summary>
internal static class Seeded
{
    private static readonly TimeSpan s_shrinkingLimit = TimeSpan.FromSeconds(60);

    /// <summary>Runs random cases until one fails or all have passed.</summary>
    /// <param name="cases">They know how to become smaller.</param>
    /// <param name="quickCases">How many, unless <c>FUZZ_CASES</c> says it.</param>
    /// <param name="run">Asserts.</param>
    /// <param name="runsWhileShrinking">What failed once need not fail at every try: how often a smaller case is tried.</param>
    internal static void Check<T>(Arbitrary<T> cases, int quickCases, Func<T, Task> run, int runsWhileShrinking = 1)
    {
        int count = int.Parse(Environment.GetEnvironmentVariable("FUZZ_CASES") ?? $"{quickCases}", CultureInfo.InvariantCulture);
        string seed = Environment.GetEnvironmentVariable("FUZZ_SEED") ?? $"{Random.Shared.NextInt64()}";
        TestContext.Current.TestOutputHelper!.WriteLine($"FUZZ_SEED={seed} FUZZ_CASES={count}");
        Stopwatch sinceFailure = new();
        FsCheck.Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(count).WithReplay(ReplayOf(seed)),
            Prop.ForAll(cases, value => RunAsync(value, run, runsWhileShrinking, sinceFailure)));
    }

    /// <summary>A list without a part of it: the halves first, single items last.</summary>
    internal static IEnumerable<IReadOnlyList<T>> Shorten<T>(IReadOnlyList<T> list)
    {
        for (int length = list.Count; length >= 1; length /= 2)
        {
            for (int from = 0; from + length <= list.Count; from += length)
            {
                yield return [.. list.Where((_, index) => index < from || index >= from + length)];
            }
        }
    }

    /// <summary>Where cases fail by hanging, shrinking must end.</summary>
    private static async Task RunAsync<T>(T value, Func<T, Task> run, int runsWhileShrinking, Stopwatch sinceFailure)
    {
        int runs = !sinceFailure.IsRunning ? 1 : sinceFailure.Elapsed < s_shrinkingLimit ? runsWhileShrinking : 0;
        for (; runs > 0; runs--)
        {
            try
            {
                await run(value);
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
