using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;

namespace CachingService.Tests.Files;

/// <summary>Which name a key means, and which keys mean none.</summary>
public sealed class FileNameTests
{
    [Theory]
    [InlineData("a", "a")]
    [InlineData("a/b.txt", "a/b.txt")]
    [InlineData("a?x=1", "a")]
    [InlineData("a?x=%2F/..", "a")]
    [InlineData("a%20b", "a b")]
    [InlineData("a%3fb", "a?b")]
    [InlineData("%41", "A")]
    [InlineData("%2541", "%41")]
    [InlineData("%252e%252e/a", "%2e%2e/a")]
    [InlineData("a+b", "a+b")]
    [InlineData("a%5Cb", "a\\b")]
    [InlineData("%C3%A9", "\u00c3\u00a9")]
    [InlineData("%ff%fe", "\u00ff\u00fe")]
    [InlineData("%c0%ae%c0%ae/a", "\u00c0\u00ae\u00c0\u00ae/a")]
    [InlineData("a.", "a.")]
    [InlineData("a..b", "a..b")]
    [InlineData("a%00b", "a\0b")]
    public void Key_OfAName_IsDecodedOnce(string key, string expected)
    {
        Assert.True(FileName.TryDecode(key, out string name));
        Assert.Equal(expected, name);
    }

    [Theory]
    [InlineData("")]
    [InlineData("?a")]
    [InlineData("/")]
    [InlineData("/a")]
    [InlineData("a/")]
    [InlineData("a//b")]
    [InlineData("a%2Fb")]
    [InlineData("a%2fb")]
    [InlineData("%2fetc")]
    [InlineData(".a")]
    [InlineData("%2ea")]
    [InlineData("a/.b")]
    [InlineData("a/%2Eb/c")]
    [InlineData(".git/config")]
    [InlineData("..")]
    [InlineData(".")]
    [InlineData("...")]
    [InlineData("a/..")]
    public void Key_OfNoServedName_IsRefused(string key) => Assert.False(FileName.TryDecode(key, out _));

    [Fact]
    public void Name_OfAnyKeyThatPassesTheGate_HasNoDotSegmentNoZeroAndNoRoot() => Seeded.Check(
        Seeded.TextOf(".", "..", "/", "%2e", "%2E", "%2f", "%5c", "%25", "%c0%ae", "%00", "%ff", "a", "~", ":", "?", "2e", "\\"),
        key => RequestTarget.Check("/object/" + key, out string target) != TargetVerdict.Valid
            || !FileName.TryDecode(target["/object/".Length..], out string name)
            || IsHarmless(name));

    private static bool IsHarmless(string name) =>
        !name.Contains('\0', StringComparison.Ordinal) && name.Split('/').All(segment => segment.Length > 0 && segment[0] != '.');
}
