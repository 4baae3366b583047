using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>What becomes of Accept-Encoding on a fill (RFC 9110 12.5.3).</summary>
public sealed class AcceptedCodingsTests
{
    private static readonly string[] s_codings = ["br", "gzip", "x-gzip", "identity", "*", "zstd", "deflate", "GZip", ""];
    private static readonly string[] s_weights = ["", ";q=1", ";q=0", "; q=0.5", " ;Q=0.001", ";q=0.000", ";q=1.5", ";q=", ";q", ";x=1", ";q=0.5;x"];

    private static Gen<string[]> Members =>
        from members in Gen.ListOf(
            from coding in Gen.Elements(s_codings)
            from weight in Gen.Elements(s_weights)
            select coding + weight)
        select members.ToArray();

    [Theory]
    [InlineData(null, "identity")]
    [InlineData("", "identity")]
    [InlineData("identity", "identity")]
    [InlineData("gzip", "gzip")]
    [InlineData("x-gzip", "gzip")]
    [InlineData("GZIP", "gzip")]
    [InlineData("br", "br")]
    [InlineData("gzip, deflate, br, zstd", "br, gzip")]
    [InlineData("br;q=0.1,gzip;q=1.0", "br, gzip")]
    [InlineData("deflate, zstd", "identity")]
    [InlineData("*", "br, gzip")]
    [InlineData("*;q=0.1, br;q=0", "gzip")]
    [InlineData("gzip;q=0", "identity")]
    [InlineData("gzip, gzip;q=0", "identity")]
    [InlineData("gzip;q=0.000, br ; q=0.001", "br")]
    [InlineData("gzip;q=2, br", "br")]
    [InlineData("gzip;q=x, br", "br")]
    [InlineData("gzip;q=0,5", "identity")]
    [InlineData("gzip;level=1, br", "br")]
    [InlineData("gzip, identity;q=0", "gzip, identity;q=0")]
    [InlineData("gzip, *;q=0", "gzip, identity;q=0")]
    [InlineData("br, gzip, *;q=0", "br, gzip, identity;q=0")]
    [InlineData("identity, *;q=0", "identity")]
    [InlineData("zstd, *;q=0", "identity;q=0")]
    [InlineData("*;q=0", "identity;q=0")]
    public void Field_InAnySpelling_BecomesOneOfFewTexts(string? field, string expected) =>
        Assert.Equal(expected, AcceptedCodings.Normalize(field));

    [Fact]
    public void Normalize_OfWhatItGave_ChangesNothing() => Seeded.Check(
        Members, members => Normalize(members) is var once && AcceptedCodings.Normalize(once) == once);

    [Fact]
    public void Normalize_InAnyOrderCaseAndOnAnyLines_IsTheSame() => Seeded.Check(
        from members in Members
        from shuffled in Gen.Shuffle(members)
        from split in Gen.Choose(0, members.Length)
        select (One: members, Other: shuffled, Split: split),
        orders => Normalize(orders.One) == AcceptedCodings.Normalize(new StringValues(
            [string.Join(" ,\t", orders.Other.Take(orders.Split)).ToUpperInvariant(), string.Join(',', orders.Other.Skip(orders.Split))])));

    [Fact]
    public void Normalize_OfAnything_NamesNoCodingThatTheClientRefused() => Seeded.Check(
        Members,
        members => Normalize(members).Split(", ").All(coding => coding == AcceptedCodings.NoneKnown || Permits(members, coding)));

    [Fact]
    public void Normalize_OfAnyText_IsOneOfEight() => Seeded.Check(
        Seeded.TextOf("gzip", "br", "identity", "*", ";", "q=", "q", "0", "1", ".", ",", " ", "\"", "\t", "\u00e9"),
        text => AcceptedCodings.Normalize(text) is "br, gzip" or "br" or "gzip" or "identity" or "br, gzip, identity;q=0" or "br, identity;q=0"
            or "gzip, identity;q=0" or "identity;q=0");

    private static string Normalize(string[] members) => AcceptedCodings.Normalize(string.Join(", ", members));

    /// <summary>No member refuses it, and a member accepts it, by name or by star; identity needs no accepting.</summary>
    private static bool Permits(string[] members, string coding)
    {
        string[] own = [.. members.Where(member => NameOf(member) == coding || (coding == "gzip" && NameOf(member) == "x-gzip"))];
        string[] deciding = own.Length > 0 ? own : [.. members.Where(member => NameOf(member) == "*")];
        return deciding.All(IsAccepting) && (deciding.Length > 0 || coding == "identity");
    }

    private static string NameOf(string member) => member.Split(';')[0].Trim().ToLowerInvariant();

    private static bool IsAccepting(string member) => member[member.Split(';')[0].Length..] is "" or ";q=1" or "; q=0.5" or " ;Q=0.001" or ";Q=0.001";
}
