using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>Calls that are made one after the other.</summary>
internal sealed record CallSequence<TStep>(IReadOnlyList<TStep> Steps)
{
    /// <summary>Random ones of these steps, longer ones later in a run.</summary>
    internal static Arbitrary<CallSequence<TStep>> Of(Gen<TStep> step) => Arb.From(
        Gen.ListOf(step).Select(steps => new CallSequence<TStep>([.. steps])),
        failed => Seeded.Shorten(failed.Steps).Select(steps => new CallSequence<TStep>(steps)));

    public override string ToString() => $"[{string.Join(", ", Steps)}]";
}
