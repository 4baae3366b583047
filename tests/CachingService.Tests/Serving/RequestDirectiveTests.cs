using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Category request directives (RFC 9111 5.2.1, 5.4), honoured and ignored.</summary>
public sealed class RequestDirectiveTests
{
    private const string Hit = "CachingService; hit; ttl=20";
    private const string Asked = "CachingService; fwd=request; fwd-status=304";

    [Theory]
    [InlineData("Cache-Control: no-cache", Asked)]
    [InlineData("Cache-Control: max-age=0", Asked)]
    [InlineData("Cache-Control: max-age=9", Asked)]
    [InlineData("Cache-Control: max-age=10", Hit)]
    [InlineData("Cache-Control: max-age=x", Hit)]
    [InlineData("Cache-Control: max-age=0, max-age=x", Asked)]
    [InlineData("Cache-Control: min-fresh=20", Hit)]
    [InlineData("Cache-Control: Min-Fresh=21", Asked)]
    [InlineData("Cache-Control: max-stale", Hit)]
    [InlineData("Cache-Control: only-if-cached", Hit)]
    [InlineData("Cache-Control: no-store", Hit)]
    [InlineData("Pragma: no-cache", Asked)]
    [InlineData("Pragma: no-cache\r\nCache-Control: max-stale", Hit)]
    [InlineData("Pragma: x", Hit)]
    public async Task FreshObject_IsValidatedWhereTheRequestSaysSo(string fields, string expected)
    {
        foreach (bool honours in (bool[])[true, false])
        {
            await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is null
                ? exchange.AnswerAsync("hello", "Cache-Control: max-age=30\r\nETag: \"a\"\r\n")
                : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"));
            await using TestService service = await TestService.StartAsync(
                origin.Url, [.. honours ? ["--Cache:RequestDirectives=Honour"] : (string[])[]]);
            await service.StoreAsync("/object/a");
            service.Time.Advance(TimeSpan.FromSeconds(10));

            (RawResponse head, string body) = await service.FetchAsync("/object/a", fields + "\r\n");

            Assert.Equal(("hello", honours ? expected : Hit), (body, head.CacheStatus));
            await service.IsAtRestAsync();
        }
    }

    [Theory]
    [InlineData("Cache-Control: max-stale", true)]
    [InlineData("Cache-Control: max-stale=3", true)]
    [InlineData("Cache-Control: max-stale=2", false)]
    [InlineData("Cache-Control: max-stale=x", false)]
    [InlineData("Cache-Control: max-stale=3, max-age=8", true)]
    [InlineData("Cache-Control: max-stale=3, max-age=7", false)]
    [InlineData("Cache-Control: max-stale, min-fresh=1", false)]
    [InlineData("Cache-Control: max-age=60", false)]
    public async Task StaleObject_IsServedToWhoIsContentWithIt(string fields, bool isServed)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is null
            ? exchange.AnswerAsync("hello", "Cache-Control: max-age=5\r\nETag: \"a\"\r\n")
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RequestDirectives=Honour");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));

        RawResponse head = (await service.FetchAsync("/object/a", fields + "\r\n")).Head;

        Assert.Equal(isServed ? "CachingService; hit; ttl=-3" : "CachingService; fwd=stale; fwd-status=304", head.CacheStatus);
        Assert.Equal(isServed ? "8" : "0", head["Age"]);
    }

    [Theory]
    [InlineData("Cache-Control: foo", true)]
    [InlineData("Cache-Control: foo=1, x-no-cache", true)]
    [InlineData("Pragma: foo", true)]
    [InlineData("Cache-Control: foo\r\nPragma: no-cache", true)]
    [InlineData("Cache-Control: max-age=x, min-fresh, max-stale=y", true)]
    [InlineData("Cache-Control: only-if-cached", true)]
    [InlineData("Cache-Control: foo, no-cache", false)]
    [InlineData("Pragma: foo, no-cache", false)]
    [InlineData("Cache-Control: max-age=60", false)]
    [InlineData("Cache-Control: min-fresh=0", false)]
    [InlineData("Cache-Control: max-stale=2", false)]
    public async Task StaleWhileRevalidate_IsOffForDirectivesOfAgeAlone(string fields, bool isServed)
    {
        TaskCompletionSource validated = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1 && isServed)
            {
                await validated.Task;
            }

            await exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=5, stale-while-revalidate=60\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RequestDirectives=Honour");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));

        RawResponse head = (await service.FetchAsync("/object/a", fields + "\r\n")).Head;

        Assert.Equal(isServed ? "CachingService; hit; ttl=-3" : "CachingService; fwd=stale; fwd-status=200; stored", head.CacheStatus);
        validated.SetResult();
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("", 504, "CachingService; detail=only-if-cached")]
    [InlineData(", stale-while-revalidate=10", 200, "CachingService; hit; ttl=-3")]
    public async Task OnlyIfCached_NeverReachesTheOrigin(string directive, int status, string cacheStatus)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", $"Cache-Control: max-age=5{directive}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        Assert.Equal(504, (await service.FetchAsync("/object/a", "Cache-Control: only-if-cached\r\n")).Head.Status);
        Assert.Equal(504, (await service.FetchAsync("/object/a", "Cache-Control: only-if-cached\r\n", "HEAD")).Head.Status);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));

        RawResponse head = (await service.FetchAsync("/object/a", "Cache-Control: only-if-cached\r\n")).Head;

        Assert.Equal((status, cacheStatus, 1), (head.Status, head.CacheStatus, origin.RequestCount));
    }

    [Fact]
    public async Task Requests_ForAValidation_ShareOne()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await joined.Task;
            }

            await exchange.AnswerAsync($"{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:RequestDirectives=Honour");
        await service.FetchAsync("/object/a");
        await using RawClient leader = await service.GetAsync("/object/a", "Cache-Control: no-cache\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the request");
        await using RawClient waiter = await service.GetAsync("/object/a", "Pragma: no-cache\r\n");
        await service.JoinedAsync(1);
        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
        joined.SetResult();

        Assert.Equal("CachingService; fwd=request; fwd-status=200; stored", (await leader.ReadAsync()).Head.CacheStatus);
        Assert.Equal("2", (await waiter.ReadAsync()).Body);
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }
}
