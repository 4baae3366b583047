using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>What an answer could depend on and the key does not hold must not reach the origin on a fill (RFC 9111 7.1).</summary>
public sealed class PoisoningTests
{
    public static TheoryData<string, string> NeverForwarded => new()
    {
        { "Forwarded", "for=1.2.3.4;host=evil" },
        { "X-Forwarded-Host", "evil" },
        { "X-Forwarded-Port", "1" },
        { "X-Forwarded-Prefix", "/evil" },
        { "X-Forwarded-Server", "evil" },
        { "x-forwarded-scheme", "https" },
        { "X-Real-IP", "1.2.3.4" },
        { "X-Original-URL", "/admin" },
        { "X-Rewrite-URL", "/admin" },
        { "X-HTTP-Method-Override", "DELETE" },
        { "X-HTTP-Method", "DELETE" },
        { "X-Method-Override", "DELETE" },
        { "X-Host", "evil" },
        { "X-Original-Host", "evil" },
        { "X-HTTP-Host-Override", "evil" },
        { "X-Original-URI", "/admin" },
        { "X-Forwarded", "for=1.2.3.4" },
        { "True-Client-IP", "1.2.3.4" },
        { "Proxy", "http://evil" },
        { "X_Forwarded_Host", "evil" },
        { "X-Forwarded_Host", "evil" },
        { "X_HTTP_Method_Override", "DELETE" },
        { "Transfer_Encoding", "chunked" },
        { "Content_Length", "5" },
        { "X_Anything", "evil" },
    };

    public static TheoryData<string, string> NotOnAFill => new()
    {
        { "Cookie", "id=1" },
        { "Authorization", "Basic eDp5" },
        { "X-Forwarded-For", "1.2.3.4" },
        { "X-Forwarded-Proto", "https" },
        { "Content-Length", "0" },
        { "Content-Type", "text/evil" },
        { "Range", "bytes=0-0" },
        { "X-Anything", "evil" },
        { "X-Api-Version", "0" },
    };

    [Theory]
    [MemberData(nameof(NeverForwarded))]
    [MemberData(nameof(NotOnAFill))]
    public async Task Field_ThatIsNotInTheKey_IsNotOnAFill(string name, string value)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        // Some of them send the first request to the origin alone; whatever is stored then was asked for by the second.
        await service.FetchAsync("/object/a", $"{name}: {value}\r\n");
        await service.FetchAsync("/object/a");
        (RawResponse head, string stored) = await service.FetchAsync("/object/a");

        Assert.StartsWith("CachingService; hit", head.CacheStatus, StringComparison.Ordinal);
        OriginExchange fill = Assert.Single(origin.Exchanges, exchange => $"{exchange.Number}" == stored);
        Assert.Null(fill.Field(name));
    }

    [Fact]
    public async Task Body_OfAGet_IsNotOnAFillAndItsAnswerIsNotStored()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            Assert.Equal(exchange.Field("Content-Length") is null ? "" : "abc", exchange.Number == 1 ? await exchange.ReadBodyAsync(3) : "");
            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 3\r\n");
        await client.SendRawAsync("abc");
        await client.ReadAsync();

        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [MemberData(nameof(NeverForwarded))]
    public async Task Field_ThatChangesTheQuestion_IsNotOnAPassEither(string name, string value)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", $"{name}: {value}\r\nCookie: a=b\r\n");
        await service.FetchAsync("/object/a", $"{name}: {value}\r\n", "POST");

        Assert.All(origin.Exchanges, exchange => Assert.Null(exchange.Field(name)));
    }

    [Fact]
    public async Task Underscores_ThatAnOptionKeeps_AreOnAPassUnlessTheirOtherSpellingIsNot()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:UnderscoresInFields=true");
        const string Fields = "X_Anything: 1\r\nX_Forwarded_Host: evil\r\nTransfer_Encoding: chunked\r\nX_Hop: 1\r\nConnection: X-Hop\r\n";

        await service.FetchAsync("/object/a", Fields + "Cookie: a=b\r\n");
        await service.FetchAsync("/object/a", Fields);

        Assert.Equal(["1", null], origin.Exchanges.Select(exchange => exchange.Field("X_Anything")));
        Assert.All(origin.Exchanges, exchange => Assert.All(["X_Forwarded_Host", "Transfer_Encoding", "X_Hop"], name => Assert.Null(exchange.Field(name))));
    }

    [Theory]
    [InlineData("GET", "Cookie: a=b\r\n")]
    [InlineData("POST", "")]
    [InlineData("OPTIONS", "")]
    public async Task Pass_NamesTheClientItself(string method, string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync(
            "/object/a",
            fields + "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\nVia: 1.0 before\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
            + "TE: trailers\r\nKeep-Alive: 1\r\nProxy-Authorization: x\r\nUpgrade: y\r\n",
            method);

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(("127.0.0.1", "http"), (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto")));
        Assert.Matches("^1.0 before, 1.1 cachingservice-[0-9a-f]{12}$", exchange.Field("Via"));
        Assert.All(
            ["X-Hop", "TE", "Keep-Alive", "Proxy-Authorization", "Upgrade", "Connection", "traceparent", "Expect"],
            name => Assert.Null(exchange.Field(name)));
        Assert.Equal(new Uri(origin.Url).Authority, exchange.Field("Host"));
    }
}
