using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>A body's length and ranges that may or may not lie in it.</summary>
internal sealed record RangeCase(int Length, RangeSpec[] Specs)
{
    public override string ToString() => $"{Length} bytes, {string.Join(',', Specs.Select(spec => $"{spec.First}-{spec.Last}"))}";
}

/// <summary>Makes range cases, in long and in short bodies, with many and with few bytes asked for.</summary>
internal static class RangeCases
{
    public static Arbitrary<RangeCase> Any { get; } = Arb.From(Of(maxLength: 200), Shrink);

    public static Gen<RangeCase> Of(int maxLength) =>
        from length in Gen.Choose(0, maxLength)
        from count in Gen.Choose(1, RangeField.MaxRanges)
        from specs in Gen.ListOf(Spec(length, count), count)
        select new RangeCase(length, [.. specs]);

    /// <summary>Usually so short that all of them together are no more than the body.</summary>
    private static Gen<RangeSpec> Spec(int length, int count) => Gen.Frequency(
        (8, from first in Gen.Choose(0, length)
            from more in Gen.Choose(0, length / (count + 1))
            select new RangeSpec(first, first + more)),
        (1, from first in Gen.Choose(Math.Max(0, length - (length / (count + 1))), length + 1) select new RangeSpec(first, null)),
        (1, from last in Gen.Choose(0, length / (count + 1)) select new RangeSpec(null, last)),
        (1, from first in Gen.Choose(0, length)
            from last in Gen.Choose(first, 2 * (length + 1))
            select new RangeSpec(first, last)));

    private static IEnumerable<RangeCase> Shrink(RangeCase rangeCase) => Enumerable.Range(0, rangeCase.Specs.Length)
        .Where(_ => rangeCase.Specs.Length > 1)
        .Select(omitted => rangeCase with { Specs = [.. rangeCase.Specs.Where((_, index) => index != omitted)] });
}
