using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>HEAD: a hit from the store, or the headers of a fill in flight, which it starts itself where there is none.</summary>
public sealed class HeadTests
{
    private const string Storable = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";

    [Fact]
    public async Task Head_OnAMiss_FetchesTheObject()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        foreach (string status in (string[])["CachingService; fwd=uri-miss; fwd-status=200; stored", "CachingService; hit; ttl=60"])
        {
            await client.SendAsync("/object/a", method: "HEAD");
            (RawResponse head, _) = await client.ReadAsync(isHead: true);
            Assert.Equal((200, "5", status), (head.Status, head["Content-Length"], head.CacheStatus));
            await service.IsAtRestAsync();
        }

        Assert.Equal("hello", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("GET", Assert.Single(origin.Exchanges).Method);
    }

    [Theory]
    [InlineData("Cache-Control: max-age=60\r\n", 1)]
    [InlineData("Cache-Control: max-age=0\r\n", 1)]
    [InlineData("Vary: Accept-Language\r\nCache-Control: max-age=60\r\n", 2)]
    public async Task Heads_AtOnce_AskTheOriginOnceForEachVariant(string fields, int requests)
    {
        const int Clients = 200;
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            // All have joined the first, or the others have joined the second.
            int joins = exchange.Number == 1 ? Clients - 1 : Clients - 1 + (Clients / 2) - 1;
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.AnswerAsync("hello", fields);
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url);
        List<RawClient> clients = [];
        for (int number = 0; number < Clients; number++)
        {
            clients.Add(await service.GetAsync("/object/a", $"Accept-Language: {number % 2}\r\n", "HEAD"));
        }

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(client => client.ReadAsync(isHead: true)));

        Assert.All(answers, answer => Assert.Equal((200, "5"), (answer.Head.Status, answer.Head["Content-Length"])));
        Assert.Equal(requests, origin.RequestCount);
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nContent-Length: 100000\r\n\r\nabc")]
    [InlineData("HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 100000\r\n\r\nabc")]
    [InlineData(Storable + "Content-Length: 100000\r\n\r\nabc", "--Cache:BackgroundFillBytes=99000")]
    [InlineData(Storable + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "--Cache:BackgroundFillBytes=100000")]
    [InlineData(Storable + "Content-Length: 100000\r\n\r\nabc", "--Cache:MaxObjectBytes=99000")]
    [InlineData("HTTP/1.1 403 X\r\nContent-Length: 100000\r\n\r\nabc")]
    public async Task Head_OfWhatIsNotKept_EndsTheFetchWhenItHasItsAnswer(string start, params string[] options)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(start);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, options);
        await using RawClient client = await service.GetAsync("/object/a", method: "HEAD");

        (RawResponse head, _) = await client.ReadAsync(isHead: true);

        Assert.Equal(start.Contains("chunked", StringComparison.Ordinal) ? null : "100000", head["Content-Length"]);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin is told to stop");
        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);

        // The connection is in order.
        await client.SendAsync("/health", method: "HEAD");
        Assert.Equal(200, (await client.ReadAsync(isHead: true)).Head.Status);
    }

    [Theory]
    [InlineData("Cache-Control: private\r\n", "hit-for-miss")]
    [InlineData("Cache-Control: max-age=60\r\n", "too-large", "--Cache:MaxObjectBytes=4")]
    public async Task Head_OfAKeyThatIsKnownToBeOfNoUse_GoesAloneAsAHead(string fields, string detail, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", fields));
        await using TestService service = await TestService.StartAsync(origin.Url, options);
        await service.FetchAsync("/object/a", method: "HEAD");
        await service.IsAtRestAsync();

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: "HEAD");

        Assert.Equal(("5", $"CachingService; fwd=bypass; fwd-status=200; detail={detail}"), (head["Content-Length"], head.CacheStatus));
        Assert.Equal(["GET", "HEAD"], origin.Exchanges.Select(exchange => exchange.Method));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Get_DuringTheFetchOfAHead_JoinsIt()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Storable + "Content-Length: 6\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", method: "HEAD");
        await using RawClient reader = await service.GetAsync("/object/a");
        RawResponse head = await reader.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal(("CachingService; hit; detail=in-flight", "abcdef"), (head.CacheStatus, await reader.ReadBodyAsync(head)));
        Assert.Equal(1, origin.RequestCount);
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
            await (exchange.Number == 1 ? headers.Task : Task.CompletedTask);
            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Coalesce=false");
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");

        RawResponse head = (await service.FetchAsync("/object/a", method: "HEAD")).Head;

        Assert.Equal(("5", "CachingService; fwd=uri-miss; fwd-status=200; stored"), (head["Content-Length"], head.CacheStatus));
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

        // Outside of its time it waits for the validation.
        service.Time.Advance(TimeSpan.FromSeconds(15));
        RawResponse confirmed = (await service.FetchAsync("/object/a", method: "HEAD")).Head;
        Assert.Equal(("5", "CachingService; fwd=stale; fwd-status=304"), (confirmed["Content-Length"], confirmed.CacheStatus));
        Assert.Equal(("GET", "\"a\""), (origin.Exchanges[2].Method, origin.Exchanges[2].Field("If-None-Match")));
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
        Assert.Equal(
            "CachingService; fwd=stale; ttl=-5; detail=origin-503", (await service.FetchAsync("/object/a", method: "HEAD")).Head.CacheStatus);
        Assert.Equal("GET", origin.Exchanges[2].Method);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_WaitingForAResponseToOtherFields_LeavesThatFill()
    {
        (TaskCompletionSource joined, TaskCompletionSource go) = (new TaskCompletionSource(), new TaskCompletionSource());
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await go.Task;
                await exchange.AnswerAsync("hello");
                return;
            }

            await joined.Task;
            await exchange.SendAsync(Storable + "Vary: Origin\r\nContent-Length: 6\r\n\r\nabc");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:BackgroundFillBytes=0");
        await using RawClient leader = await service.GetAsync("/object/a", "Origin: 1\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a", "Origin: 2\r\n", "HEAD");
        await service.JoinedAsync(1);
        joined.SetResult();
        await leader.ReadHeadAsync();
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "a fill of its own");
        leader.Vanish();

        // Nobody wants the first body any more, though the HEAD has no answer yet.
        await Eventually.TrueAsync(() => service.Host.Cache.Fills.ActiveCount == 1, "the first fill has ended");
        go.SetResult();
        Assert.Equal("5", (await waiter.ReadAsync(isHead: true)).Head["Content-Length"]);
        await service.IsAtRestAsync();
    }
}
