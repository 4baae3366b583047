using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Which fields go through, in both directions.</summary>
public sealed class HeaderTests
{
    [Fact]
    public async Task Response_EndToEndFields_PassAndHopByHopFieldsDoNot()
    {
        const string Fields = "Cache-Control: max-age=60\r\nConnection: keep-alive, X-Hop\r\n"
            + "X-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\n"
            + "Server: nginx\r\nETag: \"1\"\r\nX-Many: a\r\nX-Many: b\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\nContent-Type: a/b\r\n"
            + "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nX-Latin: caf\u00e9\r\nContent-Language: de\r\n";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", Fields));
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string fields in (string[])["", "", "Cookie: a=b\r\n"])
        {
            (RawResponse head, _) = await service.FetchAsync("/object/a", fields);

            Assert.Equal(("nginx", "\"1\"", "a, b", "caf\u00e9"), (head["Server"], head["ETag"], head["X-Many"], head["X-Latin"]));
            Assert.Equal(
                ("a/b", "de", "Mon, 01 Jan 2024 00:00:00 GMT"),
                (head["Content-Type"], head["Content-Language"], head["Last-Modified"]));
            Assert.Equal("Tue, 01 Jan 2030 00:00:00 GMT", head["Date"]);
            Assert.Matches("^1.1 cachingservice-[0-9a-f]{12}$", head["Via"]);
            Assert.All(["X-Hop", "Keep-Alive", "Proxy-Authenticate", "Connection"], name => Assert.Null(head[name]));
        }
    }

    [Theory]
    [InlineData("Cache-Control", "max-age=60")]
    [InlineData("CDN-Cache-Control", "max-age=60")]
    [InlineData("Vary", "Accept")]
    [InlineData("Set-Cookie", "id=1")]
    [InlineData("ETag", "\"1\"")]
    [InlineData("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")]
    [InlineData("Content-Type", "a/b")]
    [InlineData("Content-Encoding", "x")]
    [InlineData("Location", "http://elsewhere/b")]
    [InlineData("Retry-After", "7")]
    [InlineData("Cache-Groups", "\"a\"")]
    public async Task Response_FieldThatIsForAll_IsNotTakenOffByConnection(string name, string value)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", $"Connection: {name.ToLowerInvariant()}, X-Hop\r\nX-Hop: 1\r\n{name}: {value}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach (string fields in (string[])["", "Cookie: a=b\r\n"])
        {
            RawResponse head = (await service.FetchAsync("/object/a", fields)).Head;
            Assert.Equal((value, null), (head[name], head["X-Hop"]));
        }
    }

    [Theory]
    [InlineData('\u0001')]
    [InlineData('\b')]
    [InlineData('\u001b')]
    [InlineData('\u007f')]
    public async Task Request_WithAControlCharacterInAField_Is400AndNeverReachesTheOrigin(char bad)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        foreach ((string method, string fields) in new[] { ("GET", ""), ("HEAD", ""), ("GET", "Cookie: a=b\r\n"), ("GET", "Authorization: a\r\n"), ("POST", "Content-Length: 0\r\n") })
        {
            RawResponse head = (await service.FetchAsync("/object/a", $"Accept-Language: a{bad}b\r\n{fields}", method)).Head;
            Assert.Equal((400, "no-store", "CachingService; detail=malformed-field"), (head.Status, head["Cache-Control"], head.CacheStatus));
        }

        Assert.Equal(0, origin.RequestCount);
        await service.IsAtRestAsync();

        // What the origin is not asked for needs no such look.
        await service.StoreAsync("/object/a", "Accept-Language: a\tb\r\n");
        Assert.Equal("CachingService; hit; ttl=60", (await service.FetchAsync("/object/a", $"Accept-Language: a{bad}b\r\n")).Head.CacheStatus);
    }

    [Theory]
    [InlineData("X\u0001")]
    [InlineData("X(Y")]
    [InlineData("X\u007f")]
    public async Task Request_FieldWhoseNameIsNoToken_IsNotPassedOn(string name)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", $"{name}: 1\r\nCookie: a=b\r\n");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal("a=b", exchange.Field("Cookie"));
        Assert.DoesNotContain("\nX", exchange.Head.Replace("\nX-Forwarded", "", StringComparison.Ordinal), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Response_WithoutDate_GetsTheTimeOfReceipt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("Tue, 01 Jan 2030 00:00:00 GMT", (await service.FetchAsync("/object/a")).Head["Date"]);
        service.Time.Advance(TimeSpan.FromSeconds(30));
        Assert.Equal("Tue, 01 Jan 2030 00:00:00 GMT", (await service.FetchAsync("/object/a")).Head["Date"]);
    }

    [Fact]
    public async Task Response_WithCacheStatusOfAnotherCache_HasOursAppended()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\nCache-Status: Inner; hit\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal("Inner; hit, CachingService; fwd=uri-miss; fwd-status=200; stored", head.CacheStatus);
        Assert.Equal("Inner; hit, CachingService; hit; ttl=60", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Fact]
    public async Task Fill_CarriesNothingOfTheFirstClientThatIsPersonal()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a",
            "If-None-Match: \"1\"\r\nIf-Modified-Since: x\r\nIf-Match: *\r\nIf-Unmodified-Since: x\r\n"
            + "If-Range: x\r\nRange: bytes=0-0\r\nAccept-Encoding: gzip\r\n"
            + "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\nForwarded: for=x\r\nX-Real-IP: 1.2.3.4\r\n"
            + "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n"
            + "X-HTTP-Method-Override: DELETE\r\nConnection: X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: x\r\ntraceparent: 00-1-1-01\r\n"
            + "User-Agent: caf\u00e9\r\nX-End: me\r\nCache-Control: max-age=0\r\nPragma: x\r\nReferer: me\r\nVia: 1.1 other\r\n");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.All(
            [
                "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range", "X-Forwarded-For",
                "X-Forwarded-Host", "Forwarded",
                "X-Real-IP", "X-End", "traceparent", "Cache-Control", "Pragma", "Referer", "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Hop", "TE", "Upgrade", "Connection",
                "Content-Length", "Transfer-Encoding",
            ],
            name => Assert.Null(exchange.Field(name)));
        Assert.Equal(
            ("caf\u00e9", "gzip"),
            (exchange.Field("User-Agent"), exchange.Field("Accept-Encoding")));
        Assert.StartsWith("1.1 other, 1.1 cachingservice-", exchange.Field("Via"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Pass_KeepsTheClientsConditionsAndNamesTheClient()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a",
            "Cookie: a=b\r\nIf-None-Match: \"1\"\r\nAccept-Encoding: gzip\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\n");

        Assert.Equal(304, (await client.ReadHeadAsync()).Status);

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(("\"1\"", "gzip", "127.0.0.1", "http"),
            (exchange.Field("If-None-Match"), exchange.Field("Accept-Encoding"),
                exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto")));
        Assert.Null(exchange.Field("X-Forwarded-Host"));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Redirect_IsPassedOnAndNotFollowed()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal((302, "/object/elsewhere"), (head.Status, head["Location"]));
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task Http10Client_GetsACloseDelimitedBody()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendAsync("/object/a", version: "HTTP/1.0");

        RawResponse head = await client.ReadHeadAsync();

        Assert.Null(head["Transfer-Encoding"]);
        Assert.Equal("abc", await client.ReadToCloseAsync());
    }
}
