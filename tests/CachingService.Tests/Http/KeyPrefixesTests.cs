using IoUringCache.Caching.Http;

namespace CachingService.Tests.Http;

/// <summary>Which prefixes a key has, and which texts can be one.</summary>
public sealed class KeyPrefixesTests
{
    [Theory]
    [InlineData("a", "")]
    [InlineData("", "")]
    [InlineData("a?b/c", "")]
    [InlineData("img/a.png", "img/")]
    [InlineData("img/", "img/")]
    [InlineData("/", "/")]
    [InlineData("/news/x", "/ /news/")]
    [InlineData("//x", "/ //")]
    [InlineData("www.a.com/news/2026/x?y=/z/", "www.a.com/ www.a.com/news/ www.a.com/news/2026/")]
    [InlineData("www.a.com:8080/?", "www.a.com:8080/")]
    [InlineData("https://www.a.com/x/y", "https://www.a.com/ https://www.a.com/x/")]
    [InlineData("http://[::1]:80/", "http://[::1]:80/")]
    [InlineData("https://www.a.com", "")]
    [InlineData("https:/a/b", "https:/ https:/a/")]
    [InlineData("/https://a/b", "/ /https:/ /https:// /https://a/")]
    [InlineData("cookie=a=1/2\n www.a.com/x", "www.a.com/")]
    [InlineData("x-tenant=a/b\n cookie=c/d\n /x", "/")]
    [InlineData("1/2/3/4/5/6/7/8/9/10", "1/ 1/2/ 1/2/3/ 1/2/3/4/ 1/2/3/4/5/ 1/2/3/4/5/6/ 1/2/3/4/5/6/7/ 1/2/3/4/5/6/7/8/")]
    public void Prefixes_OfAKey_EndAtEachSlashOfItsPath(string key, string expected)
    {
        List<string> prefixes = [];
        for (ReadOnlySpan<char> prefix = KeyPrefixes.LongestOf(key); !prefix.IsEmpty; prefix = KeyPrefixes.OuterOf(prefix))
        {
            prefixes.Insert(0, prefix.ToString());
        }

        Assert.Equal(expected, string.Join(' ', prefixes));
        Assert.All(prefixes, prefix => Assert.True(KeyPrefixes.IsPrefix(prefix) && KeyPrefixes.IsBelow(key, prefix)));
    }

    [Theory]
    [InlineData(255, true)]
    [InlineData(256, false)]
    public void Prefix_ThatIsLong_EndsEarlier(int length, bool isPrefix)
    {
        string prefix = $"a/{new string('b', length - 2)}/";

        Assert.Equal((isPrefix, isPrefix ? prefix : "a/"), (KeyPrefixes.IsPrefix(prefix), KeyPrefixes.LongestOf(prefix + "c").ToString()));
    }

    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("www.a.com/news")]
    [InlineData("www.a.com/news/?")]
    [InlineData("www.a.com/?a/")]
    [InlineData("http://")]
    [InlineData("https://")]
    [InlineData("cookie=a\n www.a.com/")]
    [InlineData("1/2/3/4/5/6/7/8/9/")]
    [InlineData("https://1/2/3/4/5/6/7/8/9/")]
    public void Text_ThatEndsElsewhere_IsNoPrefix(string text) => Assert.False(KeyPrefixes.IsPrefix(text));

    [Theory]
    [InlineData("www.a.com/news/x", "www.a.com/new/")]
    [InlineData("www.a.com/x?www.b.com/", "www.b.com/")]
    [InlineData("cookie=www.a.com/\n www.b.com/", "www.a.com/")]
    [InlineData("www.a.com/News/x", "www.a.com/news/")]
    public void Key_ThatBeginsWithOthers_IsNotBelow(string key, string prefix) => Assert.False(KeyPrefixes.IsBelow(key, prefix));
}
