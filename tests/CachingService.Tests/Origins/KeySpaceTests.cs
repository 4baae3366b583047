using IoUringCache.Caching.Origins;

namespace CachingService.Tests.Origins;

/// <summary>References in answers, read back into keys byte for byte.</summary>
public sealed class KeySpaceTests
{
    [Theory]
    [InlineData("http://one.test/base/x%2Fy?q=%41", "x%2Fy?q=%41")]
    [InlineData("HTTP://ONE.test:80/base/x", "x")]
    [InlineData("https://two.test:8443/base/z", "z")]
    [InlineData("//one.test/base/x", "x")]
    [InlineData("/base/x#part", "x")]
    [InlineData("/base/a/../x/./y", "x/y")]
    [InlineData("x", "d/x")]
    [InlineData("./x", "d/x")]
    [InlineData("../x?y=../z", "x?y=../z")]
    [InlineData("..", "")]
    [InlineData("?n", "d/k?n")]
    [InlineData("", "d/k?old")]
    [InlineData("#part", "d/k?old")]
    [InlineData("/base//x", "/x")]
    [InlineData("a:b", "")]
    [InlineData("x/a:b", "d/x/a:b")]
    [InlineData("http://one.test:81/base/x", "")]
    [InlineData("https://one.test/base/x", "")]
    [InlineData("http://one.test.evil/base/x", "")]
    [InlineData("http://one.test@evil/base/x", "")]
    [InlineData("http://one.test/basement/x", "")]
    [InlineData("http://one.test/base", "")]
    [InlineData("http://[", "")]
    public void Reference_NamesAKeyOfTheSameOriginOrNone(string reference, string expected)
    {
        KeySpace keys = new(["http://one.test/base", "https://two.test:8443/base"]);

        Assert.Equal(expected, keys.TryGetTarget("d/k?old", reference, out string? named) ? named : "");
    }
}
