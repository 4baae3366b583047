using System.Globalization;
using FsCheck;
using FsCheck.Fluent;
using Microsoft.FSharp.Core;

namespace CachingService.Tests.Infrastructure;

/// <summary>
/// Checks a property on random cases; of one that fails, the smallest case that still does is printed. <c>FUZZ_CASES=N</c> runs that many;
/// <c>FUZZ_SEED=SEED</c>, which every run prints, repeats a run.
/// </summary>
internal static class Seeded
{
    private const int QuickCases = 1000;

    public static void Check<T>(Gen<T> cases, Func<T, bool> property) => Check(Arb.From(cases), value => Assert.True(property(value)));

    /// <param name="cases">They may know how to become smaller.</param>
    /// <param name="body">Asserts.</param>
    public static void Check<T>(Arbitrary<T> cases, Action<T> body)
    {
        string seed = Environment.GetEnvironmentVariable("FUZZ_SEED") ?? $"{Random.Shared.NextInt64()}";
        int count = int.Parse(Environment.GetEnvironmentVariable("FUZZ_CASES") ?? $"{QuickCases}", CultureInfo.InvariantCulture);
        TestContext.Current.TestOutputHelper?.WriteLine($"FUZZ_SEED={seed} FUZZ_CASES={count}");
        Replay replay = new(new Rnd(ulong.Parse(seed, CultureInfo.InvariantCulture)), FSharpOption<int>.None);
        Config config = Config.QuickThrowOnFailure.WithMaxTest(count).WithReplay(FSharpOption<Replay>.Some(replay));
        FsCheck.Check.One(config, Prop.ForAll(cases, body));
    }

    /// <summary>Texts that are made of pieces which mean something.</summary>
    public static Gen<string> TextOf(params string[] pieces) =>
        Gen.ListOf(Gen.Elements(pieces)).Select(parts => string.Concat(parts));
}
