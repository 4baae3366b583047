using CachingService.Http;
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
    public void Directives_OnSeveralLines_AreAllRead()
    {
        CacheControl control = CacheControl.Parse(
            new StringValues(["NO-STORE, private=\"a, b\"", "No-Cache=\"x\"", "proxy-revalidate, s-maxage=7"]));

        Assert.Equal((true, true, true, true), (control.NoStore, control.Private, control.NoCache, control.MustRevalidate));
        Assert.Equal(TimeSpan.FromSeconds(7), control.SharedMaxAge);
    }

    [Theory]
    [InlineData(21)]
    [InlineData(22)]
    public void Parse_OfAnyText_Ends(int seed)
    {
        Random random = new(seed);
        const string Alphabet = "max-age=s10,\" \\;\t";
        for (int round = 0; round < 20_000; round++)
        {
            string text = new([.. Enumerable.Range(0, random.Next(30)).Select(_ => Alphabet[random.Next(Alphabet.Length)])]);
            Assert.True(CacheControl.Parse(text).MaxAge is null or { Ticks: >= 0 }, $"seed {seed}: {text}");
        }
    }
}
