using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Hit, subscribe, create.</summary>
public sealed class OutcomeTests
{
    [Fact]
    public async Task Health_Asked_TouchesNothing()
    {
        await using var origin = new ScriptedOrigin(exchange => exchange.AnswerAsync("never"));
        await using var service = await TestService.StartAsync(origin.Url);

        var (head, body) = await service.FetchAsync("/health");

        Assert.Equal((200, "OK"), (head.Status, body));
        Assert.StartsWith("text/plain", head["Content-Type"], StringComparison.Ordinal);
        Assert.Equal(200, (await service.FetchAsync("/health", method: "HEAD")).Head.Status);
        Assert.Equal(0, origin.RequestCount);
        Assert.Equal(0, service.Host.Metrics.Misses);
    }

    [Fact]
    public async Task Object_AskedTwice_IsAHitTheSecondTime()
    {
        await using var origin = new ScriptedOrigin(exchange =>
            exchange.AnswerAsync("hello", "Cache-Control: max-age=60\r\nX-Mine: 1\r\n"));
        await using var service = await TestService.StartAsync(origin.Url);
        await using var client = await service.GetAsync("/object/a");

        var (miss, first) = await client.ReadAsync();
        await client.SendAsync("/object/a");
        var (hit, second) = await client.ReadAsync();

        Assert.Equal(("hello", "hello"), (first, second));
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", miss.CacheStatus);
        Assert.Null(miss["Age"]);
        Assert.Equal("CachingService; hit; ttl=60", hit.CacheStatus);
        Assert.Equal("0", hit["Age"]);
        Assert.Equal(("1", "1"), (miss["X-Mine"], hit["X-Mine"]));
        Assert.Equal("5", hit["Content-Length"]);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Subscribers_WhileTheOriginSends_GetEachChunkAsItComes()
    {
        var (second, last) = (new TaskCompletionSource(), new TaskCompletionSource());
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n3\r\none\r\n");
            await second.Task;
            await exchange.SendAsync("3\r\ntwo\r\n");
            await last.Task;
            await exchange.SendAsync("5\r\nthree\r\n0\r\n\r\n");
        });
        await using var service = await TestService.StartAsync(origin.Url);

        await using var leader = await service.GetAsync("/object/live");
        var leaderHead = await leader.ReadHeadAsync();
        Assert.Equal("one", await leader.ReadChunkAsync());
        await using var late = await service.GetAsync("/object/live");
        var lateHead = await late.ReadHeadAsync();
        Assert.Equal("one", await late.ReadChunkAsync());
        second.SetResult();
        Assert.Equal("two", await leader.ReadChunkAsync());
        Assert.Equal("two", await late.ReadChunkAsync());
        await using var later = await service.GetAsync("/object/live");
        var laterHead = await later.ReadHeadAsync();
        Assert.Equal("onetwo", await later.ReadChunkAsync());
        last.SetResult();
        foreach (var client in (RawClient[])[leader, late, later])
        {
            Assert.Equal("three", await client.ReadChunkAsync());
            Assert.Equal("", await client.ReadChunkAsync());
        }

        Assert.Equal("chunked", leaderHead["Transfer-Encoding"]);
        Assert.Equal("CachingService; hit; detail=in-flight", lateHead.CacheStatus);
        Assert.Equal("0", laterHead["Age"]);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Subscribers_BeforeTheHeaders_ShareOneRequest()
    {
        var joined = new TaskCompletionSource();
        var body = new string('x', 300_000);
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync(body);
        });
        await using var service = await TestService.StartAsync(origin.Url);

        var clients = new List<RawClient>();
        for (var count = 0; count < 50; count++)
        {
            clients.Add(await service.GetAsync("/object/popular"));
        }

        await service.JoinedAsync(49);
        joined.SetResult();
        var collapsed = 0;
        foreach (var client in clients)
        {
            var (head, received) = await client.ReadAsync();
            Assert.Equal(body, received);
            Assert.Equal("300000", head["Content-Length"]);
            collapsed += head.CacheStatus == "CachingService; fwd=uri-miss; collapsed" && head["Age"] == "0" ? 1 : 0;
            await client.DisposeAsync();
        }

        Assert.Equal(49, collapsed);
        Assert.Equal(1, origin.RequestCount);
        Assert.Equal(1, service.Host.Metrics.Fills);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task FirstClient_Leaving_ChangesNothingForTheOthers()
    {
        var rest = new TaskCompletionSource();
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using var service = await TestService.StartAsync(origin.Url);

        var first = await service.GetAsync("/object/a");
        await first.ReadHeadAsync();
        await using var other = await service.GetAsync("/object/a");
        var head = await other.ReadHeadAsync();
        Assert.Equal("abc", await other.ReadExactlyAsync(3));
        first.Vanish();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 1, "first client gone");
        rest.SetResult();

        Assert.Equal("def", await other.ReadExactlyAsync(3));
        Assert.Equal("6", head["Content-Length"]);
        Assert.Equal("CachingService; hit; ttl=60", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task FirstClient_LeavingBeforeTheHeaders_ChangesNothingForTheOthers()
    {
        var headers = new TaskCompletionSource();
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await headers.Task;
            await exchange.AnswerAsync("abc");
        });
        await using var service = await TestService.StartAsync(origin.Url);

        var first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        await using var other = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        first.Vanish();
        headers.SetResult();

        Assert.Equal("abc", (await other.ReadAsync()).Body);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task AllClients_Leaving_LetAStorableFillEnd()
    {
        var rest = new TaskCompletionSource();
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using var service = await TestService.StartAsync(origin.Url);

        var only = await service.GetAsync("/object/a");
        await only.ReadHeadAsync();
        only.Vanish();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "client gone");
        rest.SetResult();
        await service.IsAtRestAsync();

        Assert.Equal("abcdef", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task AllClients_LeavingWhatWouldNotBeStored_CancelTheFill()
    {
        await using var origin = new ScriptedOrigin(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
            await exchange.ClosedByServiceAsync();
        });
        await using var service = await TestService.StartAsync(origin.Url);

        var only = await service.GetAsync("/object/a");
        await only.ReadHeadAsync();
        only.Vanish();

        await service.IsAtRestAsync();
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Connection_AfterEveryOutcome_IsKeptAlive()
    {
        await using var origin = new ScriptedOrigin(exchange => exchange.Target == "/chunked"
            ? exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            : exchange.AnswerAsync("hello"));
        await using var service = await TestService.StartAsync(origin.Url);
        await using var client = await RawClient.ConnectAsync(service.Url);

        foreach (var (target, expected) in new[]
        {
            ("/object/a", 200), ("/object/a", 200), ("/object/chunked", 200), ("/object/%2e%2e", 400), ("/object/", 404),
            ("/nowhere", 404), ("/object/a", 200),
        })
        {
            await client.SendAsync(target);
            Assert.Equal(expected, (await client.ReadAsync()).Head.Status);
        }
    }
}
