using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>How many requests wait for headers, and how long.</summary>
public sealed class HoldTests
{
    [Fact]
    public async Task Waiters_OverTheCap_Get503AndTheOthersGoOn()
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await headers.Task;
            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxWaiters=2");
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "fill");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal((503, "1", "CachingService; detail=too-many-waiters"), (head.Status, head["Retry-After"], head.CacheStatus));
        Assert.Equal("too-many-waiters=1", service.ReasonsOf("cache_refusals_total"));

        // Of another object it would be the leader, whom the cap on fills counts.
        await using RawClient another = await service.GetAsync("/object/b");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "another fill");
        headers.SetResult();
        Assert.Equal("hello", (await leader.ReadAsync()).Body);
        Assert.Equal("hello", (await waiter.ReadAsync()).Body);
        Assert.Equal("hello", (await another.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal("hello", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task HoldTime_Over_Is503AndTheFillGoesOn()
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await headers.Task;
            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:HoldTime=4s");
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1 && service.Time.ArmedTimers == 2, "headers and hold are waited for");
        service.Time.Advance(TimeSpan.FromSeconds(3));
        await using RawClient waiter = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => service.Time.ArmedTimers == 3, "a second is held");

        service.Time.Advance(TimeSpan.FromSeconds(1));
        (RawResponse head, _) = await leader.ReadAsync();
        headers.SetResult();

        Assert.Equal((503, "1", "CachingService; detail=hold-time"), (head.Status, head["Retry-After"], head.CacheStatus));
        Assert.Equal("hello", (await waiter.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal((1, 1), (origin.RequestCount, service.Host.Cache.Store.Count));
    }

    [Fact]
    public async Task HoldTime_OfARoute_IsForItsKeysAlone()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync());
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:OriginHeaderTimeout=1h", "--Cache:HoldTime=20s",
            "--Cache:Routes:0:Prefix=live/", "--Cache:Routes:0:HoldTime=10s",
            "--Cache:Routes:1:Prefix=live/slow/", "--Cache:Routes:1:HoldTime=30s");
        Dictionary<string, RawClient> clients = [];
        foreach (string key in (string[])["live/a", "b", "live/slow/c"])
        {
            clients[key] = await service.GetAsync("/object/" + key);
            await Eventually.TrueAsync(
                () => origin.RequestCount == clients.Count && service.Time.ArmedTimers == 2 * clients.Count, $"{key} is held");
        }

        foreach ((string key, RawClient client) in clients)
        {
            service.Time.Advance(TimeSpan.FromSeconds(10));
            Assert.Equal(503, (await client.ReadAsync()).Head.Status);
            Assert.Equal($"/{key}", origin.Exchanges[clients.Keys.ToList().IndexOf(key)].Target);
            await client.DisposeAsync();
        }

        Assert.Equal(TimeSpan.FromSeconds(30), service.Time.Elapsed);
    }

    [Fact]
    public async Task Route_WithoutCoalescing_GivesEachMissItsOwnFill()
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number < 3)
            {
                await headers.Task;
            }

            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:Routes:0:Prefix=own/", "--Cache:Routes:0:Coalesce=false");
        await using RawClient first = await service.GetAsync("/object/own/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the first fill");
        await using RawClient second = await service.GetAsync("/object/own/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the second fill");

        Assert.Equal("3", (await service.FetchAsync("/object/own/a")).Body);
        Assert.Contains("; hit;", (await service.FetchAsync("/object/own/a")).Head.CacheStatus, StringComparison.Ordinal);
        headers.SetResult();

        Assert.Equal(("1", "2"), ((await first.ReadAsync()).Body, (await second.ReadAsync()).Body));
        await service.IsAtRestAsync();
        Assert.Equal((1, 0L), (service.Host.Cache.Store.Count, service.Host.Metrics.Joins));
    }
}
