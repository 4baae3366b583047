using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>A 503 that says when to come back: until then the origin is not asked for this key again.</summary>
public sealed class RetryAfterTests
{
    private const string Unavailable = "HTTP/1.1 503 X\r\nContent-Length: 4\r\n";

    [Theory]
    [InlineData("Retry-After: 30", 30)]
    [InlineData("Retry-After: 1", 1)]
    [InlineData("Retry-After: 0", 1)]
    [InlineData("Retry-After: 3600", 60)]
    [InlineData("Retry-After: Tue, 01 Jan 2030 00:00:20 GMT", 20)]
    [InlineData("Retry-After: Tue, 01 Jan 2030 00:00:20 GMT\r\nDate: Tue, 01 Jan 2030 00:00:05 GMT", 15)]
    [InlineData("Retry-After: Mon, 31 Dec 2029 00:00:00 GMT", 1)]
    [InlineData("Retry-After: soon", 1)]
    [InlineData("X-None: 1", 1)]
    [InlineData("Retry-After: 30\r\nCache-Control: max-age=5", 5)]
    public async Task Unavailable_IsAskedAgainWhenTheTimeIsOver(string fields, int seconds)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync($"{Unavailable}{fields}\r\n\r\nlate"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(seconds) - TimeSpan.FromTicks(1));

        (RawResponse held, string body) = await service.FetchAsync("/object/a");
        Assert.Equal((503, "late", "CachingService; hit; ttl=0", 1), (held.Status, body, held.CacheStatus, origin.RequestCount));

        // Other keys, and requests with credentials, are not concerned.
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=503; stored", (await service.FetchAsync("/object/b")).Head.CacheStatus);
        foreach (string detail in (string[])["authorization", "cookie"])
        {
            Assert.Equal(
                $"CachingService; fwd=bypass; fwd-status=503; detail={detail}",
                (await service.FetchAsync("/object/a", $"{detail}: x\r\n")).Head.CacheStatus);
        }

        service.Time.Advance(TimeSpan.FromTicks(1));
        await service.FetchAsync("/object/a");
        Assert.Equal(5, origin.RequestCount);
    }

    [Theory]
    [InlineData("503 X", "--Cache:ErrorTtl=0", 2)]
    [InlineData("500 X", "--Cache:ErrorTtl=1s", 2)]
    [InlineData("429 X", "--Cache:ErrorTtl=1s", 2)]
    [InlineData("503 X", "--Cache:ErrorTtl=1s", 1)]
    [InlineData("503 X", "--Cache:ErrorTtl=40s", 1)]
    public async Task RetryAfter_CountsOn503WhereFailuresAreKept(string status, string option, int requests)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync($"HTTP/1.1 {status}\r\nContent-Length: 0\r\nRetry-After: 30\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(2));

        await service.FetchAsync("/object/a");

        Assert.Equal(requests, origin.RequestCount);
    }

    [Fact]
    public async Task RetryAfter_OfOneOfSeveralAddresses_DoesNotCount()
    {
        await using ScriptedOrigin first = new(exchange => exchange.SendAsync($"{Unavailable}Retry-After: 30\r\n\r\nlate"));
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await TestService.StartAsync(
            "", $"--Cache:Origins={first.Url};{second.Url}", "--Cache:OriginEjectAfter=1");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal("second", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task StaleObject_StandsInWithoutTheOriginBeingAsked()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-if-error=100\r\n")
            : exchange.SendAsync($"{Unavailable}Retry-After: 30\r\nCache-Control: no-store\r\n\r\nlate"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));
        Assert.Equal("CachingService; fwd=stale; ttl=-3; detail=origin-503", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        service.Time.Advance(TimeSpan.FromSeconds(30) - TimeSpan.FromTicks(1));
        Assert.Equal("CachingService; hit; ttl=-32; detail=origin-failed", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal(2, origin.RequestCount);
        service.Time.Advance(TimeSpan.FromTicks(1));
        Assert.Equal("CachingService; fwd=stale; ttl=-33; detail=origin-503", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Fact]
    public async Task Unavailable_ThatIsNotToBeStored_IsAnsweredByUsMeanwhile()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.SendAsync($"{Unavailable}Retry-After: 30\r\nCache-Control: no-store\r\n\r\nlate");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the fill");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal("late", (await leader.ReadAsync()).Body);
        service.Time.Advance(TimeSpan.FromSeconds(10));
        foreach ((RawResponse head, string body) in new[] { await waiter.ReadAsync(), await service.FetchAsync("/object/a"), await service.FetchAsync("/object/a", method: "HEAD") })
        {
            Assert.Equal((503, "30", "no-store", ""), (head.Status, head["Retry-After"], head["Cache-Control"], body));
            Assert.StartsWith("CachingService; hit; ttl=", head.CacheStatus, StringComparison.Ordinal);
        }

        Assert.Equal(1, origin.RequestCount);
        Assert.Equal("late", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);
        await service.IsAtRestAsync();
        service.Time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal("late", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(3, origin.RequestCount);
    }

    [Theory]
    [InlineData("Cache-Control: private")]
    [InlineData("Set-Cookie: a=b")]
    public async Task Unavailable_ForOneClient_SaysNothingOfOthers(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync($"{Unavailable}Retry-After: 30\r\n{fields}\r\n\r\nlate"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a");

        Assert.Equal(2, origin.RequestCount);
    }
}
