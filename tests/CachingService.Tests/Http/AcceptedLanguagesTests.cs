using CachingService.Tests.Infrastructure;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>What becomes of Accept-Language on a fetch (RFC 9110 12.5.4).</summary>
public sealed class AcceptedLanguagesTests
{
    private static readonly string[] s_pieces =
        ["en", "DE", "-us", "-Hant", "-x", "-419", "*", ",", ",", ";q=", " ; Q=", "0.5", "1", "q", "=", " ", "\t", "_", "\"", "\u00e9", "toolongforone"];

    [Theory]
    [InlineData("", "")]
    [InlineData("*", "*")]
    [InlineData("en-US,en;q=0.5", "en-US,en;q=0.5")]
    [InlineData("en, de", "en,de")]
    [InlineData(" en ,\tde ", "en,de")]
    [InlineData("eN, De", "en,de")]
    [InlineData(",en,,de,", "en,de")]
    [InlineData("de, en", "de,en")]
    [InlineData("en;q=0.5, de", "en;q=0.5,de")]
    [InlineData("fr ; Q=0.8, *;q=0.100", "fr;q=0.8,*;q=0.100")]
    [InlineData("EN-us", "en-US")]
    [InlineData("ZH-HANT-tw", "zh-Hant-TW")]
    [InlineData("es-419", "es-419")]
    [InlineData("az-LATN-X-LATN-US", "az-Latn-x-latn-us")]
    [InlineData("sgn-be-fr", "sgn-BE-FR")]
    public void Field_InAnySpelling_BecomesOneText(string field, string expected) =>
        Assert.Equal(expected, AcceptedLanguages.Normalize(field).ToString());

    [Theory]
    [InlineData("en_US, de")]
    [InlineData("en US, de")]
    [InlineData("en-, de")]
    [InlineData("-en, de")]
    [InlineData("*-US, de")]
    [InlineData("en-*, de")]
    [InlineData("abcdefghi, de")]
    [InlineData("en;level=1, de")]
    [InlineData("en;q=, de")]
    [InlineData("en;q=high, de")]
    [InlineData("en;q=0.5;x, de")]
    [InlineData("en;q=0.12345, de")]
    [InlineData("\"en\", de")]
    [InlineData("fran\u00e7ais, de")]
    public void Field_ThatIsNoListOfLanguages_StaysAsItIs(string field) =>
        Assert.Equal(field, AcceptedLanguages.Normalize(field).ToString());

    [Fact]
    public void Field_OverAnyLength_StaysAsItIs()
    {
        string field = string.Join(" , ", Enumerable.Repeat("en", 1000));

        Assert.Equal(field, AcceptedLanguages.Normalize(field).ToString());
    }

    [Fact]
    public void Field_ThatIsAbsent_StaysAbsent() => Assert.Equal(0, AcceptedLanguages.Normalize(StringValues.Empty).Count);

    [Fact]
    public void Field_InTheUsualSpelling_IsNotCopied()
    {
        StringValues field = "en-US,en;q=0.5";

        Assert.Same((string?)field, (string?)AcceptedLanguages.Normalize(field));
    }

    [Fact]
    public void Normalize_OfWhatItGave_ChangesNothing() => Seeded.Check(
        Seeded.TextOf(s_pieces),
        text => AcceptedLanguages.Normalize(text) is var once && AcceptedLanguages.Normalize(once) == once);

    [Fact]
    public void Normalize_OfAnyText_ChangesOnlyCaseSpaceAndEmptyMembers() => Seeded.Check(
        Seeded.TextOf(s_pieces), text => Meaning(text) == Meaning(AcceptedLanguages.Normalize(text)));

    [Fact]
    public void Normalize_OnAnyLines_IsTheSame() => Seeded.Check(
        from count in Gen.Choose(0, 20)
        from members in Gen.ArrayOf(Gen.Elements("en", "DE-at", " fr;q=0.5", "*;Q=0.1", ""), count)
        from split in Gen.Choose(0, count)
        select (Members: members, Split: split),
        field => AcceptedLanguages.Normalize(string.Join(',', field.Members)).ToString() == AcceptedLanguages.Normalize(
            new StringValues([string.Join(',', field.Members[..field.Split]), string.Join(',', field.Members[field.Split..])])).ToString());

    private static string Meaning(StringValues lines) => string.Join(
        ',', lines.ToString().ToLowerInvariant().Replace(" ", "", StringComparison.Ordinal).Replace("\t", "", StringComparison.Ordinal)
            .Split(',', StringSplitOptions.RemoveEmptyEntries));
}
