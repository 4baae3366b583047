using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>Directive parsing, odd spellings included.</summary>
public sealed class CacheControlTests
{
    [Theory]
    [InlineData("max-age=10", 10)]
    [InlineData("Max-Age=10", 10)]
    [InlineData(" max-age = 10 ", 10)]
    [InlineData("max-age=\"10\"", 10)]
    [InlineData("max-age=010", 10)]
    [InlineData("max-age='10'", 0)]
    [InlineData("max-age=\"10", 0)]
    [InlineData("max-age=10, max-age=x", 0)]
    [InlineData("max-age=10;max-age=5", 0)]
    [InlineData("max-age=+10", 0)]
    [InlineData("max-age=1 0", 0)]
    [InlineData("max-age=10,max-age=5", 5)]
    [InlineData("max-age=5,max-age=10", 5)]
    [InlineData("max-age=x", 0)]
    [InlineData("max-age=", 0)]
    [InlineData("max-age", 0)]
    [InlineData("max-age=-1", 0)]
    [InlineData("max-age=1.5", 0)]
    [InlineData("max-age=99999999999999999999", 2147483648)]
    [InlineData("max-age=2147483649", 2147483648)]
    [InlineData("x=\"a, max-age=3\", max-age=10", 10)]
    [InlineData("x=\"a\\\", max-age=3\", max-age=10", 10)]
    public void MaxAge_InAnySpelling_IsReadOrCountsAsStale(string text, long seconds) =>
        Assert.Equal(TimeSpan.FromSeconds(seconds), CacheControl.Parse(text).MaxAge);

    [Theory]
    [InlineData("")]
    [InlineData(",,")]
    [InlineData("x-max-age=10")]
    [InlineData("max-agee=10")]
    [InlineData("x=\"max-age=3\"")]
    public void MaxAge_Absent_IsNull(string text) => Assert.Null(CacheControl.Parse(text).MaxAge);

    [Fact]
    public void Line_BesideATargetedField_MeansTheSameAsBeforeOnItsOwn()
    {
        const string Line = "max-age=60";
        CacheControl alone = CacheControl.Parse(Line);

        CacheControl forbidden = CacheControl.Parse("max-age=60; no-store", Line, out _);

        Assert.True(forbidden.NoStore);
        Assert.Equal((false, 60, false), (alone.NoStore, alone.MaxAge?.TotalSeconds, CacheControl.Parse(Line).NoStore));
    }

    [Fact]
    public void Directives_OnSeveralLines_AreAllRead()
    {
        CacheControl control = CacheControl.Parse(
            new StringValues(["NO-STORE, private", "No-Cache", "proxy-revalidate, s-maxage=7", "PUBLIC,must-understand"]));

        Assert.Equal((true, true, true, true), (control.NoStore, control.Private, control.NoCache, control.MustRevalidate));
        Assert.Equal((true, true), (control.Public, control.MustUnderstand));
        Assert.Equal(TimeSpan.FromSeconds(7), control.SharedMaxAge);
        Assert.Null(control.WithheldFields);
    }

    [Theory]
    [InlineData("private=\"a, b\", NO-CACHE=\"C\"", "a b C")]
    [InlineData("private=a, private=\"b\"", "a b")]
    [InlineData("private=\", a,, b ,\"", "a b")]
    [InlineData("no-cache = \"a\"", "a")]
    public void Fields_ThatADirectiveNames_AreWithheldAndNothingElse(string text, string names)
    {
        CacheControl control = CacheControl.Parse(text);

        Assert.Equal((false, false), (control.Private, control.NoCache));
        Assert.Equal(names.Split(' ').Order(), control.WithheldFields?.Order());
        Assert.Contains(names.Split(' ')[0].ToUpperInvariant(), control.WithheldFields!);
    }

    [Theory]
    [InlineData("private, private=\"a\"")]
    [InlineData("private=\"a\", private")]
    [InlineData("private=\"\"")]
    [InlineData("private=")]
    [InlineData("private=\" , \"")]
    [InlineData("private=\"a b\"")]
    [InlineData("private=\"a\\b\"")]
    [InlineData("private=\"a, b")]
    [InlineData("private=\"a\"b")]
    [InlineData("private; max-age=60")]
    [InlineData("private max-age=60")]
    [InlineData("max-age=60 PRIVATE")]
    [InlineData("max-age=60; private")]
    [InlineData("private=\"a\"; max-age=60")]
    [InlineData("public private=\"a\"")]
    [InlineData("no-cache=\"a\" private")]
    public void Private_WithNamesThatCannotBeRead_IsForTheWhole(string text) => Assert.True(CacheControl.Parse(text).Private);

    [Theory]
    [InlineData("x=\"a, no-store")]
    [InlineData("x=\"a\\\", no-store")]
    [InlineData("\", no-store")]
    [InlineData("x=\"a\"\", no-store")]
    [InlineData(",, ,no-store")]
    [InlineData("no-store=1")]
    [InlineData("no-store =")]
    [InlineData("\tno-store\t")]
    [InlineData("no-store;")]
    [InlineData("no-store no-cache")]
    [InlineData("max-age=60 No-Store")]
    [InlineData("max-age=60; no-store")]
    [InlineData("public\tno-store")]
    [InlineData("=no-store")]
    [InlineData("x=no-store")]
    [InlineData("x=\"a\" no-store")]
    [InlineData("x=\"a\"no-store")]
    [InlineData("\"x\";no-store=1")]
    [InlineData("private=\"a\"; no-store")]
    [InlineData("x=\"a no-store")]
    public void NoStore_BehindAnything_IsFound(string text) => Assert.True(CacheControl.Parse(text).NoStore);

    [Theory]
    [InlineData("no-cache; max-age=60")]
    [InlineData("max-age=60 no-cache")]
    [InlineData("no-store no-cache")]
    [InlineData("no-cache=\"a\"; max-age=60")]
    [InlineData("x=no-cache")]
    public void NoCache_BehindAnything_IsFound(string text) => Assert.True(CacheControl.Parse(text).NoCache);

    [Theory]
    [InlineData("must-revalidate; stale-if-error=60")]
    [InlineData("stale-if-error=60; proxy-revalidate")]
    public void MustRevalidate_BehindAnything_IsFound(string text) => Assert.True(CacheControl.Parse(text).ForbidsStale);

    [Theory]
    [InlineData("x=\"no-store\"")]
    [InlineData("x=\"a, no-store, b\"")]
    [InlineData("no-stores")]
    [InlineData("no store")]
    [InlineData("x-no-store; no-store-x")]
    [InlineData("x=\"a; no-store, b\"; max-age=60")]
    public void NoStore_AsPartOfSomethingElse_IsNone(string text) => Assert.False(CacheControl.Parse(text).NoStore);
}
