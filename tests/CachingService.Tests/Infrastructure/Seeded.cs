using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// Checks a property on random cases. <c>FUZZ_CASES=N</c> runs that many; <c>FUZZ_SEED=SEED</c>, which every run prints, repeats a run.
/// </summary>
internal static class Seeded
{
    private const int QuickCases = 1000;

    public static void Check<T>(Gen<T> cases, Func<T, bool> property)
    {
        string seed = Environment.GetEnvironmentVariable("FUZZ_SEED") ?? $"{Random.Shared.NextInt64()}";
        int count = int.Parse(Environment.GetEnvironmentVariable("FUZZ_CASES") ?? $"{QuickCases}", CultureInfo.InvariantCulture);
        TestContext.Current.TestOutputHelper?.WriteLine($"FUZZ_SEED={seed} FUZZ_CASES={count}");
        Replay replay = new(new Rnd(ulong.Parse(seed, CultureInfo.InvariantCulture)), FSharpOption<int>.None);
        Config config = Config.QuickThrowOnFailure.WithMaxTest(count).WithReplay(FSharpOption<Replay>.Some(replay));
        FsCheck.Check.One(config, Prop.ForAll(Arb.From(cases), property));
    }

    /// <summary>Texts that are made of pieces which mean something.</summary>
    public static Gen<string> TextOf(params string[] pieces) =>
        Gen.ListOf(Gen.Elements(pieces)).Select(parts => string.Concat(parts));
}
