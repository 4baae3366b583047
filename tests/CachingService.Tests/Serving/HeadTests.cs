using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>HEAD: a hit from the store, the headers of a fill in flight, or a HEAD of its own.</summary>
public sealed class HeadTests
{
    [Fact]
    public async Task Head_OnAMiss_IsForwardedAndFillsNothing()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        for (int count = 1; count <= 2; count++)
        {
            await client.SendAsync("/object/a", method: "HEAD");
            (RawResponse head, _) = await client.ReadAsync(isHead: true);
            Assert.Equal((200, "5"), (head.Status, head["Content-Length"]));
            Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=head-miss", head.CacheStatus);
        }

        Assert.All(origin.Exchanges, exchange => Assert.Equal("HEAD", exchange.Method));
        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Store.Count));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_OnAHit_IsAnsweredFromTheStore()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: "HEAD");

        Assert.Equal(("3", "CachingService; hit; ttl=60", "0"), (head["Content-Length"], head.CacheStatus, head["Age"]));
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task Head_DuringAFill_TakesItsHeadersAtOnce()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\nX-Mine: 1\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        RawResponse leaderHead = await leader.ReadHeadAsync();

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: "HEAD");

        Assert.Equal(("6", "1", "CachingService; hit; detail=in-flight"), (head["Content-Length"], head["X-Mine"], head.CacheStatus));
        rest.SetResult();
        Assert.Equal("abcdef", await leader.ReadBodyAsync(leaderHead));
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_WaitingForAResponseForOneClient_GoesAlone()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync("hello", "Cache-Control: private\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a", method: "HEAD");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal("hello", (await leader.ReadAsync()).Body);
        Assert.Equal("5", (await waiter.ReadAsync(isHead: true)).Head["Content-Length"]);
        Assert.Equal(["GET", "HEAD"], origin.Exchanges.Select(exchange => exchange.Method));
    }

    [Fact]
    public async Task Head_OnARouteWithoutCoalescing_DoesNotJoin()
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "GET")
            {
                await headers.Task;
            }

            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Coalesce=false");
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");

        RawResponse head = (await service.FetchAsync("/object/a", method: "HEAD")).Head;

        Assert.Equal(("5", "CachingService; fwd=bypass; fwd-status=200; detail=head-miss"), (head["Content-Length"], head.CacheStatus));
        headers.SetResult();
        Assert.Equal("hello", (await leader.ReadAsync()).Body);
        Assert.Equal((2, 0L), (origin.RequestCount, service.Host.Metrics.Joins));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_WhileAStaleObjectMayBeServed_IsAnsweredAtOnceAndOneFillValidates()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-while-revalidate=10\r\nETag: \"a\"\r\n");
                return;
            }

            await go.Task;
            await exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nX-New: 1\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));

        for (int count = 0; count < 2; count++)
        {
            RawResponse stale = (await service.FetchAsync("/object/a", method: "HEAD")).Head;
            Assert.Equal(("5", "8", "CachingService; hit; ttl=-3"), (stale["Content-Length"], stale["Age"], stale.CacheStatus));
        }

        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        go.SetResult();
        await service.IsAtRestAsync();
        RawResponse hit = (await service.FetchAsync("/object/a", method: "HEAD")).Head;
        Assert.Equal(("5", "1", "CachingService; hit; ttl=5"), (hit["Content-Length"], hit["X-New"], hit.CacheStatus));
        Assert.Equal([("GET", null), ("GET", "\"a\"")], origin.Exchanges.Select(exchange => (exchange.Method, exchange.Field("If-None-Match"))));

        // Outside of its time the origin is asked, by a HEAD.
        service.Time.Advance(TimeSpan.FromSeconds(15));
        await service.FetchAsync("/object/a", method: "HEAD");
        Assert.Equal("HEAD", origin.Exchanges[2].Method);
    }

    [Fact]
    public async Task Head_WhileTheOriginIsLeftAlone_IsAnsweredByWhatIsStale()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-if-error=60\r\n")
            : exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ErrorTtl=2s");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await service.FetchAsync("/object/a");

        Assert.Equal("CachingService; hit; ttl=-3; detail=origin-failed", (await service.FetchAsync("/object/a", method: "HEAD")).Head.CacheStatus);
        Assert.Equal(2, origin.RequestCount);
        service.Time.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(503, (await service.FetchAsync("/object/a", method: "HEAD")).Head.Status);
        Assert.Equal("HEAD", origin.Exchanges[2].Method);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_WaitingForAResponseToOtherFields_LeavesThatFill()
    {
        (TaskCompletionSource joined, TaskCompletionSource go) = (new TaskCompletionSource(), new TaskCompletionSource());
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Method == "HEAD")
            {
                await go.Task;
                await exchange.AnswerAsync("hello");
                return;
            }

            await joined.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: X\r\nContent-Length: 6\r\n\r\nabc");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:BackgroundFillBytes=0");
        await using RawClient leader = await service.GetAsync("/object/a", "X: 1\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a", "X: 2\r\n", "HEAD");
        await service.JoinedAsync(1);
        joined.SetResult();
        await leader.ReadHeadAsync();
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "a HEAD of its own");
        leader.Vanish();

        // Nobody wants the body any more, though the HEAD has no answer yet.
        await Eventually.TrueAsync(() => service.Host.Fills.ActiveCount == 0, "the fill has ended");
        go.SetResult();
        Assert.Equal("5", (await waiter.ReadAsync(isHead: true)).Head["Content-Length"]);
        await service.IsAtRestAsync();
    }
}
