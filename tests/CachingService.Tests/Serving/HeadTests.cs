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
}
