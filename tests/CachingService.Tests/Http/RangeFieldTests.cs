using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>Syntax of <c>Range</c>, and which bytes of a body it means.</summary>
public sealed class RangeFieldTests
{
    private const string All = "all";

    /// <summary>Category, field, length of the body, and the bytes: none is 416, all is the whole body as if there were no field.</summary>
    public static TheoryData<string, string, long, string> Fields => new()
    {
        { "partial content: first", "bytes=0-4", 10, "0-4" },
        { "partial content: one byte", "bytes=9-9", 10, "9-9" },
        { "partial content: open", "bytes=3-", 10, "3-9" },
        { "partial content: suffix", "bytes=-3", 10, "7-9" },
        { "partial content: beyond the end", "bytes=8-99", 10, "8-9" },
        { "partial content: suffix beyond the start", "bytes=-99", 10, "0-9" },
        { "partial content: number beyond all bounds", "bytes=1-99999999999999999999999", 10, "1-9" },
        { "partial content: unit in capitals", "BYTES=0-4", 10, "0-4" },
        { "partial content: spaces and empty members", "bytes=, 0-1 ,\t,4-5,", 10, "0-1,4-5" },
        { "merging: overlapping", "bytes=0-4,3-6", 20, "0-6" },
        { "merging: adjacent", "bytes=0-4,5-6", 20, "0-6" },
        { "merging: one between two", "bytes=0-4,8-9,4-8", 20, "0-9" },
        { "merging: a byte between", "bytes=0-4,6-7", 20, "0-4,6-7" },
        { "merging: the same twice", "bytes=2-3,2-3", 20, "2-3" },
        { "order: as asked", "bytes=8-9,0-1,-1", 20, "8-9,0-1,19-19" },
        { "order: merged takes the first place", "bytes=8-9,0-1,10-10", 20, "8-10,0-1" },
        { "unsatisfiable: start beyond the end", "bytes=10-", 10, "" },
        { "unsatisfiable: number beyond all bounds", "bytes=99999999999999999999999-", 10, "" },
        { "unsatisfiable: no last bytes", "bytes=-0", 10, "" },
        { "unsatisfiable: all of several", "bytes=10-11,20-", 10, "" },
        { "unsatisfiable: empty body", "bytes=0-", 0, "" },
        { "partly satisfiable", "bytes=10-11,0-1", 10, "0-1" },
        { "ignored: last bytes of nothing", "bytes=-5", 0, All },
        { "ignored: sum over the length", "bytes=0-5,0-5", 10, All },
        { "ignored: everything again and again", "bytes=0-,0-,0-", 10, All },
        { "ignored: other unit", "items=0-4", 10, All },
        { "ignored: no unit", "0-4", 10, All },
        { "ignored: space before the sign", "bytes =0-4", 10, All },
        { "ignored: no ranges", "bytes=", 10, All },
        { "ignored: no ranges but commas", "bytes=,,", 10, All },
        { "ignored: no dash", "bytes=5", 10, All },
        { "ignored: dash alone", "bytes=-", 10, All },
        { "ignored: no digits", "bytes=a-b", 10, All },
        { "ignored: half no digits", "bytes=1-b", 10, All },
        { "ignored: sign", "bytes=+1-2", 10, All },
        { "ignored: two dashes", "bytes=--1", 10, All },
        { "ignored: space inside", "bytes=1 -2", 10, All },
        { "ignored: backwards", "bytes=4-2", 10, All },
        { "ignored: one bad among good", "bytes=0-1,4-2", 10, All },
        { "limit: sixteen", "bytes=" + string.Join(',', Enumerable.Range(0, 16).Select(number => $"{2 * number}-{2 * number}")), 99,
            string.Join(',', Enumerable.Range(0, 16).Select(number => $"{2 * number}-{2 * number}")) },
        { "limit: seventeen", "bytes=" + string.Join(',', Enumerable.Range(0, 17).Select(number => $"{2 * number}-{2 * number}")), 99, All },
    };

    [Theory]
    [MemberData(nameof(Fields))]
    public void Field_OfAnyForm_MeansTheseBytes(string category, string field, long length, string expected) =>
        Assert.True(expected == Describe(field, length), $"{category}: {field} of {length} is {Describe(field, length)}, not {expected}.");

    [Fact]
    public void Field_InTwoLines_IsIgnored() => Assert.Null(RangeField.Parse(new StringValues(["bytes=0-1", "bytes=3-4"])));

    /// <summary>Texts that are nearly fields: never an exception, and never bytes that the body does not have.</summary>
    [Fact]
    public void Parse_OfAnyText_NeverThrows()
    {
        Gen<string> pieces = Gen.Elements(
            "bytes=", "bytes", "=", "-", ",", " ", "\t", "0", "1", "7", "99", "18446744073709551616", "x", "\u00e9", "");
        Gen<string> texts = from parts in Gen.ListOf(pieces)
                            from prefix in Gen.Elements("bytes=", "")
                            select prefix + string.Concat(parts);
        Seeded.Check(Arb.From(texts), text =>
        {
            foreach (long length in (long[])[0, 1, 10, long.MaxValue])
            {
                if (RangeField.Parse(text) is { } specs)
                {
                    Assert.InRange(specs.Length, 1, RangeField.MaxRanges);
                    Assert.All(
                        RangeField.Select(specs, length) ?? [],
                        range => Assert.True(range.First >= 0 && range.First <= range.Last && range.Last < length));
                }
            }
        });
    }

    /// <summary>What is sent is what a set of positions, filled one by one, would say; once each; nothing touches; again changes nothing.</summary>
    [Fact]
    public void Select_OfAnyRanges_IsTheSetOfTheirBytes() => Seeded.Check(RangeCases.Any, rangeCase =>
    {
        (int length, RangeSpec[] specs) = (rangeCase.Length, rangeCase.Specs);
        SortedSet<long> expected = new();
        long sum = 0;
        foreach (RangeSpec spec in specs)
        {
            List<long> positions = Enumerable.Range(0, length).Select(position => (long)position)
                .Where(position => spec.First is { } first
                    ? position >= first && position <= (spec.Last ?? long.MaxValue)
                    : position >= length - spec.Last)
                .ToList();
            sum += positions.Count;
            expected.UnionWith(positions);
        }

        ByteRange[]? selected = RangeField.Select(specs, length);
        if (selected is null)
        {
            Assert.True(sum > length || length == 0);
            return;
        }

        Assert.True(sum <= length);
        IEnumerable<long> sent = selected.SelectMany(range => Enumerable.Range(0, (int)range.Length).Select(offset => range.First + offset));
        Assert.Equal(expected, sent.Order());
        Assert.All(selected, range => Assert.DoesNotContain(selected, other => other != range && other.Touches(range)));
        Assert.Equal(selected, RangeField.Select([.. selected.Select(range => new RangeSpec(range.First, range.Last))], length));
    });

    private static string Describe(string field, long length) =>
        RangeField.Parse(field) is { } specs && RangeField.Select(specs, length) is { } selected
            ? string.Join(',', selected.Select(range => $"{range.First}-{range.Last}"))
            : All;
}
