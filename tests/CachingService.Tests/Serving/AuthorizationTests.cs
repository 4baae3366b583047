using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Serving;

/// <summary>Category authorization: RFC 9111 3.5.</summary>
public sealed class AuthorizationTests
{
    private const string Credentials = "Authorization: Basic eDp5\r\n";
    private const string Public = "Cache-Control: max-age=60, public\r\n";
    private const string Passed = "CachingService; fwd=bypass; fwd-status=200; detail=authorization";

    [Theory]
    [InlineData("Cache-Control: max-age=60, public")]
    [InlineData("Cache-Control: max-age=60, must-revalidate")]
    [InlineData("Cache-Control: s-maxage=60")]
    [InlineData("Cache-Control: no-store\r\nCDN-Cache-Control: public, max-age=60")]
    [InlineData("Cache-Control: public\r\nVary: Accept-Language\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT")]
    public async Task Answer_ThatSaysSo_IsForOthersToo(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", $"{fields}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string own) = await service.FetchAsync("/object/a", Credentials);
        (RawResponse other, string body) = await service.FetchAsync("/object/a");
        (_, string body2) = await service.FetchAsync("/object/a", "Authorization: Basic b3RoZXI=\r\n");

        Assert.Equal(("1", "CachingService; fwd=bypass; fwd-status=200; stored"), (own, head.CacheStatus));
        Assert.Equal(("1", "1"), (body, body2));
        Assert.StartsWith("CachingService; hit; ttl=", other.CacheStatus, StringComparison.Ordinal);
        Assert.Equal("Basic eDp5", Assert.Single(origin.Exchanges).Field("Authorization"));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer_ToAnOrdinaryClient_IsForOthersToo()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Public));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync(
            "/object/a",
            Credentials + "User-Agent: curl/8\r\nAccept: */*\r\nAccept-Encoding: gzip\r\nAccept-Language: de\r\nConnection: keep-alive\r\n");

        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("200 OK\r\nCache-Control: max-age=60")]
    [InlineData("200 OK\r\nExpires: Fri, 01 Jan 2100 00:00:00 GMT")]
    [InlineData("200 OK\r\nCache-Control: max-age=60, proxy-revalidate")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60, private")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60, no-store")]
    [InlineData("200 OK\r\nCache-Control: public, no-cache\r\nETag: \"1\"")]
    [InlineData("200 OK\r\nCache-Control: must-revalidate, max-age=0\r\nETag: \"1\"")]
    [InlineData("200 OK\r\nCache-Control: s-maxage=0")]
    [InlineData("200 OK\r\nCache-Control: public")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nSet-Cookie: id=1")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nCDN-Cache-Control: max-age=60")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nVary: *")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nVary: Accept, Authorization")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nVary: cookie")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nVary: X-Forwarded-Proto")]
    [InlineData("200 OK\r\nCache-Control: public, max-age=60\r\nVary: Accept\r\nVary: X-Forwarded-For")]
    [InlineData("301 Moved\r\nCache-Control: public, max-age=60\r\nLocation: /")]
    [InlineData("401 Unauthorized\r\nCache-Control: public, max-age=60")]
    [InlineData("404 Not Found\r\nCache-Control: public, max-age=60")]
    [InlineData("503 Service Unavailable\r\nCache-Control: public, max-age=60")]
    public async Task Answer_ThatDoesNot_IsForItsClientAlone(string answer)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("Authorization") is null
            ? exchange.AnswerAsync("for all")
            : exchange.SendAsync($"HTTP/1.1 {answer}\r\nContent-Length: 1\r\n\r\n{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string own) = await service.FetchAsync("/object/a", Credentials);
        (RawResponse again, string second) = await service.FetchAsync("/object/a", Credentials);
        (RawResponse other, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("1", "2", "for all"), (own, second, body));
        Assert.All([head, again], each => Assert.Equal(
            (answer[..3], $"CachingService; fwd=bypass; fwd-status={answer[..3]}; detail=authorization"), ($"{each.Status}", each.CacheStatus)));

        // It says nothing of what others get.
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", other.CacheStatus);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer_ForItsClientAlone_LeavesWhatIsStored()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is not null
            ? exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\n\r\n")
            : exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60\r\nETag: \"1\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(60));

        Assert.Equal("2", (await service.FetchAsync("/object/a", Credentials)).Body);
        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("1", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
        Assert.Equal([null, null, "\"1\""], origin.Exchanges.Select(exchange => exchange.Field("If-None-Match")));
    }

    [Fact]
    public async Task Credentials_AreNotSentForOthers()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Public + "ETag: \"1\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a", Credentials);
        service.Time.Advance(TimeSpan.FromSeconds(60));

        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b");

        Assert.Equal(["Basic eDp5", null, null], origin.Exchanges.Select(exchange => exchange.Field("Authorization")));
        Assert.Equal("\"1\"", origin.Exchanges[1].Field("If-None-Match"));
    }

    [Theory]
    [InlineData("")]
    [InlineData("Authorization: Basic b3RoZXI=\r\n")]
    public async Task Request_WithAuthorization_LetsNoOtherJoin(string fields)
    {
        TaskCompletionSource first = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 1 ? first.Task : Task.CompletedTask);
            await exchange.AnswerAsync($"{exchange.Number}", Public);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", Credentials);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");

        Assert.Equal("2", (await service.FetchAsync("/object/a", fields)).Body);

        first.SetResult();
        Assert.Equal("1", (await client.ReadAsync()).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Request_WithAuthorization_LeavesTheFillInFlightToOthers()
    {
        TaskCompletionSource fill = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await fill.Task;
            await exchange.AnswerAsync($"{exchange.Number}", Public);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill at the origin");
        await using RawClient alone = await service.GetAsync("/object/a", Credentials);
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "request with credentials at the origin");

        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        fill.SetResult();

        Assert.Equal(("1", "2", "1"), ((await leader.ReadAsync()).Body, (await alone.ReadAsync()).Body, (await waiter.ReadAsync()).Body));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Client_ThatLeavesBeforeTheHeaders_EndsItsRequest()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync());
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", Credentials);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");

        client.Vanish();

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "end of the request at the origin");
        await service.IsAtRestAsync();
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Client_ThatLeavesAfterTheHeaders_LeavesTheAnswerToOthers()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Public}Content-Length: 2\r\n\r\na");
            await rest.Task;
            await exchange.SendAsync("b");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", Credentials);
        await client.ReadHeadAsync();
        client.Vanish();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "no reader");
        rest.SetResult();
        await service.IsAtRestAsync();

        Assert.Equal("ab", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData("key=a")]
    [InlineData("tag=t")]
    [InlineData("all")]
    public async Task Purge_BeforeTheHeaders_ConcernsTheAnswer(string what)
    {
        TaskCompletionSource purged = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 1 ? purged.Task : Task.CompletedTask);
            await exchange.AnswerAsync($"{exchange.Number}", Public + "Surrogate-Key: t\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", Credentials);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        switch (what)
        {
            case "key=a":
                service.Host.Cache.Purger.Purge(Purge.OfKey("a", isSoft: false));
                break;
            case "tag=t":
                service.Host.Cache.Purger.Purge(Purge.OfTag("t", isSoft: false));
                break;
            default:
                service.Host.Cache.Purger.Purge(Purge.OfAll(isSoft: false));
                break;
        }

        purged.SetResult();

        Assert.Equal("1", (await client.ReadAsync()).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("Range: bytes=0-0\r\n", "Range", "bytes=0-0")]
    [InlineData("If-None-Match: \"x\"\r\n", "If-None-Match", "\"x\"")]
    [InlineData("Cookie: id=1\r\n", "Cookie", "id=1")]
    [InlineData("X-App: 1\r\n", "X-App", "1")]
    [InlineData("Referer: http://x/\r\n", "Referer", "http://x/")]
    public async Task Request_WithMoreThanAFetchCarries_GoesAsItIs(string fields, string name, string value)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Public));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("1", (await service.FetchAsync("/object/a", Credentials + fields)).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);

        Assert.Equal((value, "Basic eDp5"), (origin.Exchanges[0].Field(name), origin.Exchanges[0].Field("Authorization")));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Cache-Control: no-store\r\n", "no-store")]
    [InlineData("Accept-Encoding: zstd, *;q=0\r\n", "accept-encoding")]
    public async Task Request_ThatMayNotBeStored_IsNotWithAuthorizationEither(string fields, string detail)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Public));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse head = (await service.FetchAsync("/object/a", Credentials + fields)).Head;

        Assert.Equal($"CachingService; fwd=bypass; fwd-status=200; detail={detail}", head.CacheStatus);
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("max-age=60, public")]
    [InlineData("max-age=60")]
    public async Task Request_WithAuthorization_NamesTheClient(string control)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", $"Cache-Control: {control}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", Credentials + "X-Forwarded-For: 9.9.9.9\r\n");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(("127.0.0.1", "http"), (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto")));
    }

    [Fact]
    public async Task Request_WithAuthorization_OverTheLimitOfFills_Passes()
    {
        TaskCompletionSource fill = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Target == "/slow" ? fill.Task : Task.CompletedTask);
            await exchange.AnswerAsync("x", Public);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxFills=1");
        await using RawClient slow = await service.GetAsync("/object/slow");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill at the origin");

        Assert.Equal(Passed, (await service.FetchAsync("/object/a", Credentials)).Head.CacheStatus);

        fill.SetResult();
        await slow.ReadAsync();
    }

    [Fact]
    public async Task Failure_OfTheOrigin_IsAnsweredLikeThatOfAPass()
    {
        await using ScriptedOrigin origin = new(exchange =>
        {
            exchange.Reset();
            return Task.CompletedTask;
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse head = (await service.FetchAsync("/object/a", Credentials)).Head;

        Assert.Equal((502, "CachingService; detail=origin-no-answer"), (head.Status, head.CacheStatus));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    public async Task Request_WithAuthorization_MayHaveWhatAnotherRequestHadStored(string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Authorization: x\r\n", method);

        Assert.Equal(("CachingService; hit; ttl=60", method == "GET" ? "1" : ""), (head.CacheStatus, body));
        Assert.Equal(1, origin.RequestCount);
        service.Time.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal(
            "CachingService; fwd=bypass; fwd-status=200; detail=authorization",
            (await service.FetchAsync("/object/a", "Authorization: x\r\n", method)).Head.CacheStatus);
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    public async Task Request_WithAuthorization_DoesNotJoinAFillInFlight(string method)
    {
        TaskCompletionSource fill = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Field("Authorization") is null)
            {
                await fill.Task;
            }

            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill at the origin");
        (RawResponse head, _) = await service.FetchAsync("/object/a", "Authorization: x\r\n", method);
        fill.SetResult();

        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=authorization", head.CacheStatus);
        Assert.Equal(method, origin.Exchanges[1].Method);
        Assert.Equal("1", (await leader.ReadAsync()).Body);
    }
}
