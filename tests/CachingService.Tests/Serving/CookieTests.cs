using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Serving;

/// <summary>What requests with Cookie have of the cache, by Cache:Cookies, Cache:IgnoredCookies and Cache:KeyCookies.</summary>
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

    [Theory]
    [InlineData("_ga*,gid", "_ga=1; gid=2; _ga_X=3", null)]
    [InlineData("*", "id=1", null)]
    [InlineData("*", "", null)]
    [InlineData("_ga*", "_ga=1;; =x", "=x")]
    [InlineData("_ga*", "_ga=1; id=1", "id=1")]
    [InlineData("gid", "gidd=1", "gidd=1")]
    [InlineData("gid", "GID=1", "GID=1")]
    [InlineData("id", "a=id; id = 7; b", "a=id; b")]
    public async Task IgnoredCookie_CountsAsNotSent(string ignored, string cookies, string? left)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:IgnoredCookies={ignored}");
        await service.StoreAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", $"Cookie: {cookies}\r\n");

        Assert.Equal(left is null ? ("1", "CachingService; hit; ttl=60") : ("2", "CachingService; fwd=bypass; fwd-status=200; detail=cookie"), (body, head.CacheStatus));
        Assert.Equal(left, left is null ? null : origin.Exchanges[1].Field("Cookie"));
    }

    [Fact]
    public async Task IgnoredCookie_GoesWithOtherMethods()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:IgnoredCookies=*", "--Cache:KeyCookies=lang");

        await service.FetchAsync("/object/a", "Cookie: id=1; lang=de\r\nContent-Length: 0\r\n", "POST");
        await service.FetchAsync("/object/a", "Cookie: id=1; lang=de\r\nAuthorization: x\r\n");

        Assert.Equal(["id=1; lang=de", "lang=de"], origin.Exchanges.Select(static exchange => exchange.Field("Cookie")));
    }

    [Fact]
    public async Task CookieOfTheKey_HasObjectsOfItsOwn_WhichTheOriginMakesOfIt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Field("Cookie")}", "Cache-Control: max-age=60\r\nVary: Cookie\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:IgnoredCookies=*", "--Cache:KeyCookies=lang,size");

        foreach ((string cookies, string body, bool isHit) in ((string, string, bool)[])
        [
            ("id=1; lang=de", "lang=de", false), ("lang=de; id=2", "lang=de", true), ("lang=en", "lang=en", false), ("id=1", "", false), ("", "", true),
            ("size=1; lang=de", "lang=de; size=1", false), ("lang=de; size=1", "lang=de; size=1", true), ("lang=de; lang=en", "lang=de; lang=en", false),
        ])
        {
            (RawResponse head, string got) = await service.FetchAsync("/object/a", cookies.Length == 0 ? "" : $"Cookie: {cookies}\r\n");
            Assert.Equal((body, isHit), (got, head.CacheStatus.StartsWith("CachingService; hit", StringComparison.Ordinal)));
            await service.IsAtRestAsync();
        }
    }

    /// <summary>It may be too long for a fetch, or be such that an origin could read it differently.</summary>
    [Fact]
    public async Task CookieOfTheKey_ThatNoFetchCarries_IsAsAnyOther()
    {
        string large = $"lang={new string('x', 1024)}";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:KeyCookies=lang");

        Assert.EndsWith("detail=cookie", (await service.FetchAsync("/object/a", $"Cookie: {large}\r\n")).Head.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(400, (await service.FetchAsync("/object/a", "Cookie: lang=\u0001\r\n")).Head.Status);
        Assert.Equal(large, Assert.Single(origin.Exchanges).Field("Cookie"));
    }

    /// <summary>Else an answer that depends on it would be stored for all that have none.</summary>
    [Fact]
    public async Task CookieOfTheKey_ThatNoFetchCarries_HasItsAnswerNotStored()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Field("Cookie")?[..7]}", "Cache-Control: max-age=60, public\r\n"));
        await using TestService service = await StartAsync(origin, "--Cache:KeyCookies=lang");

        await service.StoreAsync("/object/a", $"Cookie: lang=de; lang={new string('x', 1024)}\r\n");

        Assert.Equal("", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task CookieOfTheKey_IsPartOfTheKeyThatIsPurged()
    {
        using TokenFile token = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:KeyCookies=lang", token.Option);
        await service.StoreAsync("/object/a", "Cookie: lang=de\r\n");
        await service.StoreAsync("/object/a");

        Assert.Contains("\"objects\": 1", (await service.AskAdminAsync("POST", "/purge?key=cookie%3Dlang%3Dde%0A%20a")).Body, StringComparison.Ordinal);

        Assert.Equal("3", (await service.FetchAsync("/object/a", "Cookie: lang=de\r\n")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(400, (await service.AskAdminAsync("POST", "/purge?key=cookie%3Dlang%3Dde%0A%20%0A")).Head.Status);
    }

    [Fact]
    public async Task CookieOfTheKey_BesideOthersThatAreShared_GoesWithThem()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60, public\r\n"));
        await using TestService service = await StartAsync(origin, "--Cache:KeyCookies=lang");

        await service.StoreAsync("/object/a", "Cookie: id=1; lang=de\r\n");

        Assert.Equal("id=1; lang=de", Assert.Single(origin.Exchanges).Field("Cookie"));
        Assert.Equal("1", (await service.FetchAsync("/object/a", "Cookie: lang=de\r\n")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a", "Cookie: lang=en\r\n")).Body);
    }

    [Theory]
    [InlineData("IgnoredCookies", "a=b")]
    [InlineData("KeyCookies", "a*b")]
    [InlineData("QueryParameters", "a&b")]
    [InlineData("IgnoredQueryParameters", "a b")]
    public async Task Name_ThatIsNone_StopsTheStart(string option, string value)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://a", $"--Cache:{option}={value}"));

        Assert.Equal($"Option Cache:{option}: '{value}' is not valid: expected names, separated by commas, each with a star only at its end.", failure.Message);
    }

    private static Task<TestService> StartAsync(ScriptedOrigin origin, params string[] options) =>
        TestService.StartAsync(origin.Url, ["--Cache:Cookies=Share", .. options]);
}
