using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// Checks a property on random cases and prints the seed. A failure prints the smallest case that still fails;
/// <c>FUZZ_SEED=SEED</c> repeats the run, <c>FUZZ_CASES=N</c> makes it longer.
/// </summary>
internal static class RandomCases
{
    private const int QuickCases = 300;

    public static void Check<T>(Arbitrary<T> cases, Action<T> body)
    {
        int count = int.Parse(Environment.GetEnvironmentVariable("FUZZ_CASES") ?? $"{QuickCases}", CultureInfo.InvariantCulture);
        string seed = Environment.GetEnvironmentVariable("FUZZ_SEED") ?? $"{Random.Shared.NextInt64()}";
        TestContext.Current.TestOutputHelper?.WriteLine($"FUZZ_SEED={seed} FUZZ_CASES={count}");
        Replay replay = new(new Rnd(ulong.Parse(seed, CultureInfo.InvariantCulture)), FSharpOption<int>.None);
        FsCheck.Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(count).WithReplay(FSharpOption<Replay>.Some(replay)),
            Prop.ForAll(cases, body));
    }
}
