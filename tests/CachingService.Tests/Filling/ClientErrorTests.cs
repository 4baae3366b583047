using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>A 4xx that may be about one client's request is for that client alone; those who waited with it are asked for anew.</summary>
public sealed class ClientErrorTests
{
    private const string Good = "Cache-Control: max-age=60\r\nETag: \"good\"\r\n";

    [Theory]
    [InlineData(400, "Cache-Control: max-age=60\r\n")]
    [InlineData(401, "")]
    [InlineData(403, "Cache-Control: private\r\n")]
    [InlineData(405, "Expires: Wed, 01 Jan 2031 00:00:00 GMT\r\n")]
    [InlineData(414, "Cache-Control: max-age=60, public\r\nETag: \"a\"\r\n")]
    [InlineData(429, "Retry-After: 5\r\n")]
    [InlineData(431, "CDN-Cache-Control: max-age=60\r\n")]
    [InlineData(499, "Cache-Control: s-maxage=60\r\n")]
    public async Task ClientError_IsForItsClientAloneAndTheOthersFormOneFill(int status, string fields)
    {
        const int Clients = 60;
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            int joins = exchange.Number == 1 ? Clients - 1 : Clients - 1 + Clients - 2;
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await (exchange.Number == 1
                ? exchange.SendAsync($"HTTP/1.1 {status} X\r\n{fields}Content-Length: 2\r\n\r\nno")
                : exchange.AnswerAsync("good", Good));
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url, "--Cache:DefaultTtl=60s");
        await using RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first fill");
        List<RawClient> others = [];
        while (others.Count < Clients - 1)
        {
            others.Add(await service.GetAsync("/object/a", method: others.Count % 10 == 0 ? "HEAD" : "GET"));
        }

        (RawResponse head, string body) = await first.ReadAsync();
        (RawResponse Head, string Body)[] answers = await Task.WhenAll(
            others.Select((client, number) => client.ReadAsync(isHead: number % 10 == 0)));

        Assert.Equal(
            (status, "no", $"CachingService; fwd=uri-miss; fwd-status={status}; detail=client-error"), (head.Status, body, head.CacheStatus));
        Assert.All(answers.Index(), answer => Assert.Equal((200, answer.Index % 10 == 0 ? "" : "good"), (answer.Item.Head.Status, answer.Item.Body)));
        Assert.Equal(
            [("CachingService; fwd=uri-miss; collapsed", Clients - 2), ("CachingService; fwd=uri-miss; fwd-status=200; stored", 1)],
            answers.GroupBy(answer => answer.Head.CacheStatus).Select(group => (group.Key, group.Count())).Order());
        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Cache.Markers.Count));
        await service.IsAtRestAsync();
        others.ForEach(client => client.Vanish());
    }

    [Fact]
    public async Task ClientError_OfEachAnswer_LetsThoseWhoWaitGoAloneAfterThreeLooks()
    {
        TestService? running = null;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            int joins = exchange.Number switch { 1 => 9, 2 => 17, _ => 24 };
            await Eventually.TrueAsync(() => running!.Host.Metrics.Joins == joins, $"{joins} joins");
            await exchange.SendAsync($"HTTP/1.1 403 X\r\nContent-Length: 2\r\n\r\n{exchange.Number:00}");
        });
        await using TestService service = running = await TestService.StartAsync(origin.Url);
        List<RawClient> clients = [];
        while (clients.Count < 10)
        {
            clients.Add(await service.GetAsync("/object/a"));
        }

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(client => client.ReadAsync()));

        // Each has an answer of its own, and the key has no mark that would end the waiting for others.
        Assert.All(answers, answer => Assert.Equal(403, answer.Head.Status));
        Assert.Equal(10, answers.Select(answer => answer.Body).Distinct().Count());
        Assert.Equal(
            [("CachingService; fwd=bypass; fwd-status=403; detail=client-error", 7), ("CachingService; fwd=uri-miss; fwd-status=403; detail=client-error", 3)],
            answers.GroupBy(answer => answer.Head.CacheStatus).Select(group => (group.Key, group.Count())).Order());
        Assert.Equal((10, 0, 0), (origin.RequestCount, service.Host.Cache.Markers.Count, service.Host.Cache.Store.Count));
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    /// <summary>RFC 5861 4 counts no 4xx as an error that a stale object may stand in for.</summary>
    [Fact]
    public async Task ClientError_InAnswerToAValidation_LeavesWhatIsStored()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 2 ? joined.Task : Task.CompletedTask);
            await (exchange.Number switch
            {
                1 => exchange.AnswerAsync("good", Good.Replace("60", "60, stale-if-error=600", StringComparison.Ordinal)),
                2 => exchange.SendAsync("HTTP/1.1 403 X\r\nContent-Length: 2\r\n\r\nno"),
                _ => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"),
            });
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(60));
        await using RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        (RawResponse refused, string no) = await first.ReadAsync();
        (RawResponse head, string body) = await waiter.ReadAsync();
        Assert.Equal((403, "no"), (refused.Status, no));
        Assert.Equal(("good", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
        Assert.Equal([null, "\"good\"", "\"good\""], origin.Exchanges.Select(exchange => exchange.Field("If-None-Match")));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task ClientError_BehindWhatMayBeServedStale_IsSeenByNobody()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 2
            ? exchange.SendAsync("HTTP/1.1 400 X\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nno")
            : exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60, stale-while-revalidate=600\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(60));

        List<string> bodies = [];
        for (int count = 0; count < 3; count++)
        {
            bodies.Add((await service.FetchAsync("/object/a")).Body);
            await service.IsAtRestAsync();
        }

        Assert.Equal(["1", "1", "3"], bodies);
        Assert.Equal(3, origin.RequestCount);
    }

    [Fact]
    public async Task ClientError_ThatAnOptionNames_IsSharedAndStored()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync($"HTTP/1.1 403 X\r\nContent-Length: 1\r\n\r\n{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:NegativeStatuses=403, 404", "--Cache:NegativeTtl=5s");
        await using RawClient first = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal(("1", "1"), ((await first.ReadAsync()).Body, (await waiter.ReadAsync()).Body));
        Assert.Equal("CachingService; hit; ttl=5", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Theory]
    [InlineData("HTTP/1.1 401 X\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nno")]
    [InlineData("HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 2\r\n\r\nno")]
    public async Task Answer_ForOneClientThatHasMoreFieldsThanAFetchCarries_IsTheAnswerToThem(string withoutKey)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("X-Api-Key") is { } key
            ? exchange.AnswerAsync(key, "Cache-Control: private\r\n")
            : exchange.SendAsync(withoutKey));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "X-Api-Key: mine\r\n");
        (RawResponse later, string other) = await service.FetchAsync("/object/a", "X-Api-Key: other\r\n");

        Assert.Equal((200, "mine", "other"), (head.Status, body, other));
        Assert.StartsWith("CachingService; fwd=bypass; fwd-status=200; detail=", head.CacheStatus, StringComparison.Ordinal);

        // From then on the key is known to be of no use to others.
        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=hit-for-miss", later.CacheStatus);
        Assert.Equal([null, "mine", "other"], origin.Exchanges.Select(exchange => exchange.Field("X-Api-Key")));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer_ForOneClient_IsNotAskedForAgainForWhatEveryBrowserSends()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Cache-Control: no-store\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", "Referer: x\r\nSec-Fetch-Mode: cors\r\nDNT: 1\r\nCache-Control: max-age=0\r\ntraceparent: 00-1-1-01\r\n");

        Assert.Equal(1, origin.RequestCount);
    }
}
