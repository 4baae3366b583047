using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Serving;

/// <summary>Hit, subscribe, create.</summary>
public sealed class OutcomeTests
{
    [Fact]
    public async Task Health_Asked_TouchesNothing()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("never"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/health");

        Assert.Equal((200, "OK"), (head.Status, body));
        Assert.StartsWith("text/plain", head["Content-Type"], StringComparison.Ordinal);
        Assert.Null(head["Server"]);
        Assert.Equal(200, (await service.FetchAsync("/health", method: "HEAD")).Head.Status);
        Assert.Equal(0, origin.RequestCount);
        Assert.Equal(0, service.Host.Metrics.Misses);
    }

    [Fact]
    public async Task Object_AskedTwice_IsAHitTheSecondTime()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("hello", "Cache-Control: max-age=60\r\nX-Mine: 1\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a");

        (RawResponse miss, string first) = await client.ReadAsync();
        await client.SendAsync("/object/a");
        (RawResponse hit, string second) = await client.ReadAsync();

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

    [Theory]
    [InlineData("")]
    [InlineData("Cookie: a=b\r\n")]
    public async Task Requests_PipelinedByAClientThatHasLeft_AskTheOriginNothing(string fields)
    {
        const int Requests = 50;
        TaskCompletionSource left = new();
        TaskCompletionSource end = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await left.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=60\r\n\r\nhe");
            await end.Task;
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using (RawClient client = await RawClient.ConnectAsync(service.Url))
        {
            await client.SendRawAsync(string.Concat(
                Enumerable.Range(0, Requests).Select(count => $"GET /object/{count} HTTP/1.1\r\nHost: h\r\n{fields}\r\n")));
            await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first request");
        }

        // What is sent to the client from now on is answered by a reset, in the middle of the first response.
        left.SetResult();

        await Eventually.TrueAsync(() => service.Host.Metrics.Durations.Of(RequestOutcome.Cut).Count == Requests, "the end of all requests");
        Assert.Equal(1, service.Host.Metrics.Fills + service.Host.Metrics.Passes);
        end.SetResult();
    }

    [Fact]
    public async Task Subscribers_WhileTheOriginSends_GetEachChunkAsItComes()
    {
        (TaskCompletionSource second, TaskCompletionSource last) = (new TaskCompletionSource(), new TaskCompletionSource());
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n3\r\none\r\n");
            await second.Task;
            await exchange.SendAsync("3\r\ntwo\r\n");
            await last.Task;
            await exchange.SendAsync("5\r\nthree\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        await using RawClient leader = await service.GetAsync("/object/live");
        RawResponse leaderHead = await leader.ReadHeadAsync();
        Assert.Equal("one", await leader.ReadChunkAsync());
        await using RawClient late = await service.GetAsync("/object/live");
        RawResponse lateHead = await late.ReadHeadAsync();
        Assert.Equal("one", await late.ReadChunkAsync());
        second.SetResult();
        Assert.Equal("two", await leader.ReadChunkAsync());
        Assert.Equal("two", await late.ReadChunkAsync());
        await using RawClient later = await service.GetAsync("/object/live");
        RawResponse laterHead = await later.ReadHeadAsync();
        Assert.Equal("one", await later.ReadChunkAsync());
        Assert.Equal("two", await later.ReadChunkAsync());
        last.SetResult();
        foreach (RawClient client in (RawClient[])[leader, late, later])
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
        TaskCompletionSource joined = new();
        string body = new('x', 300_000);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync(body);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        List<RawClient> clients = new();
        for (int count = 0; count < 50; count++)
        {
            clients.Add(await service.GetAsync("/object/popular"));
        }

        await service.JoinedAsync(49);
        joined.SetResult();
        int collapsed = 0;
        foreach (RawClient client in clients)
        {
            (RawResponse head, string received) = await client.ReadAsync();
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
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawClient first = await service.GetAsync("/object/a");
        await first.ReadHeadAsync();
        await using RawClient other = await service.GetAsync("/object/a");
        RawResponse head = await other.ReadHeadAsync();
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
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await headers.Task;
            await exchange.AnswerAsync("abc");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        await using RawClient other = await service.GetAsync("/object/a");
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
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawClient only = await service.GetAsync("/object/a");
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
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawClient only = await service.GetAsync("/object/a");
        await only.ReadHeadAsync();
        only.Vanish();

        await service.IsAtRestAsync();
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Connection_AfterEveryOutcome_IsKeptAlive()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Target == "/chunked"
            ? exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            : exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        foreach ((string target, int expected) in new[]
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
