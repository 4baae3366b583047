using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>What requests with Cookie have of the cache, by Cache:Cookies.</summary>
public sealed class CookieTests
{
    private const string Cookie = "Cookie: id=1\r\n";

    [Theory]
    [InlineData("GET", "1")]
    [InlineData("HEAD", "")]
    public async Task Share_GivesWhatIsStored(string method, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await StartAsync(origin);
        await service.StoreAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Cookie, method);

        Assert.Equal((expected, "CachingService; hit; ttl=60"), (body, head.CacheStatus));
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData("Cache-Control: max-age=60, public", true)]
    [InlineData("CDN-Cache-Control: max-age=60, public", true)]
    [InlineData("Cache-Control: max-age=60", false)]
    [InlineData("Cache-Control: max-age=60, must-revalidate", false)]
    [InlineData("Cache-Control: s-maxage=60", false)]
    [InlineData("Cache-Control: max-age=60, public\r\nSet-Cookie: id=1", false)]
    [InlineData("Cache-Control: max-age=60, public\r\nVary: Cookie", false)]
    public async Task Share_StoresWhatIsPublic(string answer, bool isStored)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", answer + "\r\n"));
        await using TestService service = await StartAsync(origin);

        (RawResponse head, string own) = await service.FetchAsync("/object/a", Cookie);
        string body = (await service.FetchAsync("/object/a")).Body;

        Assert.Equal(("1", isStored ? "1" : "2"), (own, body));
        Assert.Equal($"CachingService; fwd=bypass; fwd-status=200; {(isStored ? "stored" : "detail=cookie")}", head.CacheStatus);
        Assert.Equal("id=1", origin.Exchanges[0].Field("Cookie"));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Share_WithAuthorizationToo_StoresWhatIsPublicAlone()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: s-maxage=60\r\n"));
        await using TestService service = await StartAsync(origin);

        await service.FetchAsync("/object/a", Cookie + "Authorization: x\r\n");

        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(("id=1", "x"), (origin.Exchanges[0].Field("Cookie"), origin.Exchanges[0].Field("Authorization")));
    }

    [Theory]
    [InlineData("Vary: Cookie")]
    [InlineData("Vary: Accept, cookie")]
    public async Task Share_GivesNothingThatACookieWouldHaveChanged(string vary)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", $"Cache-Control: max-age=60, stale-if-error=600\r\n{vary}\r\n"));
        await using TestService service = await StartAsync(origin, "--Cache:RequestDirectives=Honour");
        await service.StoreAsync("/object/a");

        Assert.Equal("2", (await service.FetchAsync("/object/a", Cookie)).Body);
        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
        service.Time.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal("3", (await service.FetchAsync("/object/a", Cookie + "Cache-Control: max-stale\r\n")).Body);
        Assert.Equal("1", (await service.FetchAsync("/object/a", "Cache-Control: max-stale\r\n")).Body);
    }

    [Fact]
    public async Task Share_GivesNoStoredFailure()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            $"HTTP/1.1 500 X\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\n{exchange.Number}"));
        await using TestService service = await StartAsync(origin);
        await service.StoreAsync("/object/a");

        Assert.Equal("2", (await service.FetchAsync("/object/a", Cookie)).Body);
        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
    }

    private static Task<TestService> StartAsync(ScriptedOrigin origin, params string[] options) =>
        TestService.StartAsync(origin.Url, ["--Cache:Cookies=Share", .. options]);
}
