using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Every cap answers 503 with Retry-After, and what runs goes on.</summary>
public sealed class CapTests
{
    [Theory]
    [InlineData("--Cache:MaxFills=1", "/object/b", "", "too-many-fills")]
    [InlineData("--Cache:MaxReadersPerObject=1", "/object/a", "", "too-many-readers")]
    [InlineData("--Cache:MaxPasses=1", "/object/b", "Cookie: a=b\r\n", "too-many-passes")]
    public async Task Cap_Reached_Is503AndTheFirstGoesOn(string option, string secondTarget, string fields, string detail)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await rest.Task;
            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await using RawClient first = await service.GetAsync("/object/a", fields);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "first at the origin");

        (RawResponse head, _) = await service.FetchAsync(secondTarget, fields);

        Assert.Equal(
            (503, "1", "no-store", $"CachingService; detail={detail}"),
            (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus));
        rest.SetResult();
        Assert.Equal("hello", (await first.ReadAsync()).Body);
        Assert.Equal((1, $"{detail}=1"), (origin.RequestCount, service.ReasonsOf("cache_refusals_total")));
        await service.IsAtRestAsync();
        Assert.Equal(200, (await service.FetchAsync(secondTarget, fields)).Head.Status);
    }

    [Theory]
    [InlineData("--Cache:MaxFills=1", "/object/b", "too-many-fills")]
    [InlineData("--Cache:MaxReadersPerObject=1", "/object/a", "too-many-readers")]
    [InlineData("--Cache:MaxWaiters=1", "/object/a", "too-many-waiters")]
    [InlineData("--Cache:OriginMaxFills=1", "/object/b", "too-many-fills-at-origin")]
    public async Task Cap_ReachedWhereAStaleObjectMayStandIn_ServesThat(string option, string firstTarget, string detail)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(exchange => AnswerOnceAsync(exchange, rest.Task));
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await using RawClient first = await service.GetAsync(firstTarget);
        await Eventually.TrueAsync(() => origin.RequestCount == 2 && service.Host.Cache.Waiting.Count == 1, "first at the origin");

        (RawResponse stale, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("hello", "8"), (body, stale["Age"]));
        Assert.Contains("; ttl=-3; ", stale.CacheStatus, StringComparison.Ordinal);
        Assert.EndsWith($"; detail={detail}", stale.CacheStatus, StringComparison.Ordinal);
        rest.SetResult();
        Assert.Equal("hello", (await first.ReadAsync()).Body);
        Assert.Equal((2, 0L), (origin.RequestCount, service.Host.Metrics.Refusals));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task HoldTime_OverWhereAStaleObjectMayStandIn_ServesThat()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(exchange => AnswerOnceAsync(exchange, rest.Task));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:HoldTime=4s");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2 && service.Time.ArmedTimers == 2, "headers and hold are waited for");

        service.Time.Advance(TimeSpan.FromSeconds(4));

        (RawResponse stale, string body) = await client.ReadAsync();
        Assert.Equal(("hello", "CachingService; hit; ttl=-7; detail=hold-time"), (body, stale.CacheStatus));
        rest.SetResult();
        await service.IsAtRestAsync();

        // What comes in the end is as old as it was long in coming.
        Assert.Equal("CachingService; hit; ttl=1", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    /// <summary>The first answer comes at once; the others when told.</summary>
    private static async Task AnswerOnceAsync(OriginExchange exchange, Task others)
    {
        if (exchange.Number > 1)
        {
            await others;
        }

        await exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-if-error=60\r\n");
    }
}
