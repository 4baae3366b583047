using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;

namespace CachingService.Tests.Routes;

/// <summary><c>Cache:RewriteLocations</c>: what an origin says of its own place names the service's.</summary>
public sealed class LocationTests
{
    [Theory]
    [InlineData("/", "http://origin:9000", "http://origin:9000/b?c#d", "/b?c#d")]
    [InlineData("/", "http://origin:9000", "HTTP://ORIGIN:9000/b", "/b")]
    [InlineData("/", "http://origin:9000", "//origin:9000/b", "/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000/", "/")]
    [InlineData("/", "http://origin:9000", "http://origin:9000", "/")]
    [InlineData("/", "http://origin:9000", "/b", "/b")]
    [InlineData("/", "http://origin:9000", "b/../c", "b/../c")]
    [InlineData("/", "http://origin:9000", "?x=http", "?x=http")]
    [InlineData("/", "http://origin:9000", "https://origin:9000/b", "https://origin:9000/b")]
    [InlineData("/", "http://origin:9000", "http://other/b", "http://other/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000//evil.test/b", "http://origin:9000//evil.test/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000/\\evil.test/b", "http://origin:9000/\\evil.test/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000/\t/evil.test/b", "http://origin:9000/\t/evil.test/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000/a/../\\evil.test/b", "http://origin:9000/a/../\\evil.test/b")]
    [InlineData("/", "http://origin:9000", "http://origin:9000@evil.test/b", "http://origin:9000@evil.test/b")]
    [InlineData("/", "http://origin:9000", "mailto:a@b.test", "mailto:a@b.test")]
    [InlineData("/object/", "http://origin:9000", "/b", "/object/b")]
    [InlineData("/object/", "http://origin:9000", "http://origin:9000/", "/object/")]
    [InlineData("/object/", "http://origin:9000/v1", "/v1/b", "/object/b")]
    [InlineData("/object/", "http://origin:9000/v1", "/v2/b", "/v2/b")]
    [InlineData("/object/", "http://origin:9000/v1", "http://origin:9000/v1/a/../b", "/object/b")]
    [InlineData("/", "http://one;http://two/base", "http://two/base/b", "/b")]
    public void Location_OfTheOriginsOwnPlace_NamesTheServices(string publicPath, string urls, string location, string expected)
    {
        OwnReferences references = new(urls.Split(';'), publicPath);

        ResponseHead head = references.Rewrite("dir/a", Heads.Create($"Location: {location}\r\nContent-Location: {location}\r\nX-Location: {location}"));

        Assert.Equal((expected, expected, location), (head["Location"].ToString(), head["Content-Location"].ToString(), head["X-Location"].ToString()));
    }

    [Theory]
    [InlineData("a=b; Domain=origin; Path=/", "a=b; Path=/")]
    [InlineData("a=b; path=/;domain=.ORIGIN ; Secure", "a=b; path=/; Secure")]
    [InlineData("a=b; Domain=shop.test", "a=b; Domain=shop.test")]
    [InlineData("domain=origin; Path=/", "domain=origin; Path=/")]
    [InlineData("a=b", "a=b")]
    public void Cookie_OfTheOriginsDomain_IsForTheHostThatWasAsked(string cookie, string expected)
    {
        OwnReferences references = new(["http://origin:9000"], "/");

        ResponseHead head = references.Rewrite("a", new(200, [new("Set-Cookie", new(["first=1", cookie]))], null));

        Assert.Equal($"first=1,{expected}", head["Set-Cookie"].ToString());
    }

    [Fact]
    public void Head_WithNothingToChange_IsTheSame()
    {
        ResponseHead head = Heads.Create("Location: http://other/\r\nSet-Cookie: a=b\r\nETag: \"x\"");

        Assert.Same(head, new OwnReferences(["http://origin"], "/").Rewrite("a", head));
    }

    [Theory]
    [InlineData(true, "/object/there?x=1")]
    [InlineData(false, "URL/there?x=1")]
    public async Task Redirect_ToTheOrigin_IsStoredAsClientsSeeIt(bool rewrites, string expected)
    {
        string url = "";
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            $"HTTP/1.1 301 Moved Permanently\r\nLocation: {url}/there?x=1\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n\r\n"));
        url = origin.Url;
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:RewriteLocations={rewrites}");
        expected = expected.Replace("URL", url, StringComparison.Ordinal);

        Assert.Equal(expected, (await service.FetchAsync("/object/a")).Head["Location"]);
        await service.IsAtRestAsync();
        (RawResponse head, _) = await service.FetchAsync("/object/a");
        Assert.Equal(("CachingService; hit; ttl=60", expected), (head.CacheStatus, head["Location"]));
        Assert.Equal(expected, (await service.FetchAsync("/object/b", "Cookie: a=b\r\n"))!.Head["Location"]);
    }

    /// <summary>The reference is read back after it was changed.</summary>
    [Theory]
    [InlineData("/object/", "/object/there", "URL/there")]
    [InlineData("/object/", "/object/there", "/there")]
    [InlineData("/object/", "/object/there", "there")]
    [InlineData("/", "/there", "URL/there")]
    [InlineData("/", "/", "/")]
    public async Task Location_OfAPost_IsInvalidated(string publicPath, string target, string location)
    {
        string url = "";
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "POST"
            ? exchange.AnswerAsync("", $"Location: {location.Replace("URL", url, StringComparison.Ordinal)}\r\n")
            : exchange.AnswerAsync($"{exchange.Number}"));
        url = origin.Url;
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:PublicPath={publicPath}");
        await service.StoreAsync(target);

        await service.FetchAsync($"{publicPath}form", "Content-Length: 0\r\n", "POST");

        Assert.Equal("3", (await service.FetchAsync(target)).Body);
    }
}
