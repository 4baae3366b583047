using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>Stale objects that are served while they are validated, or because the origin fails (RFC 5861, RFC 9111 4.2.4).</summary>
public sealed class StaleTests
{
    private const string Tag = "ETag: \"a\"\r\n";

    [Theory]
    [InlineData("Cache-Control: max-age=5, stale-while-revalidate=10", "0s")]
    [InlineData("CDN-Cache-Control: max-age=5, stale-while-revalidate=10\r\nCache-Control: no-store", "0s")]
    [InlineData("Cache-Control: max-age=5", "10s")]
    public async Task StaleWhileRevalidate_ServesAtOnceAndAsksOnce(string fields, string option)
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await go.Task;
            }

            await (exchange.Field("If-None-Match") is null
                ? exchange.AnswerAsync("hello", $"{fields}\r\n{Tag}")
                : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nX-New: 1\r\n\r\n"));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:StaleWhileRevalidate={option}");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));

        for (int count = 0; count < 3; count++)
        {
            // Each client leaves before the origin has said anything; the validation goes on.
            (RawResponse stale, string body) = await service.FetchAsync("/object/a");
            Assert.Equal(("hello", "8", "CachingService; hit; ttl=-3", null), (body, stale["Age"], stale.CacheStatus, stale["X-New"]));
        }

        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        go.SetResult();
        await service.IsAtRestAsync();
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;
        Assert.Equal(("1", "CachingService; hit; ttl=5", 2), (hit["X-New"], hit.CacheStatus, origin.RequestCount));

        // Outside of its time it is waited for.
        service.Time.Advance(TimeSpan.FromSeconds(15));
        Assert.Equal("CachingService; fwd=stale; fwd-status=304", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Empty(service.Log.Warnings);
    }

    /// <summary>A response by other fields takes no place of the stale one in the store, and is what the origin has in the place of it all the same.</summary>
    [Theory]
    [InlineData("404 Not Found")]
    [InlineData("200 OK")]
    public async Task Stale_InPlaceOfWhichTheOriginHasAnother_DoesNotComeBack(string status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("old", "Cache-Control: max-age=5, stale-while-revalidate=600\r\nVary: Accept-Language\r\n")
            : exchange.SendAsync($"HTTP/1.1 {status}\r\nCache-Control: max-age=5\r\nContent-Length: 3\r\n\r\nnew"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal("old", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
        Assert.Equal("new", (await service.FetchAsync("/object/a")).Body);

        service.Time.Advance(TimeSpan.FromSeconds(6));

        Assert.Equal("new", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(3, origin.RequestCount);
    }

    [Theory]
    [InlineData("max-age=5, must-revalidate")]
    [InlineData("max-age=5, proxy-revalidate")]
    [InlineData("s-maxage=5")]
    [InlineData("max-age=5, no-cache")]
    [InlineData("max-age=5, stale-while-revalidate=60, stale-if-error=60, must-revalidate")]
    [InlineData("s-maxage=5, stale-while-revalidate=60, stale-if-error=60")]
    [InlineData("max-age=5, stale-while-revalidate=0, stale-if-error=0")]
    [InlineData("max-age=5, stale-while-revalidate=x, stale-if-error")]
    public async Task Stale_IsNeverServedWhereTheOriginForbidsIt(string control)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("hello", $"Cache-Control: {control}\r\n{Tag}")
            : exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:StaleWhileRevalidate=60s", "--Cache:StaleIfError=60s", "--Cache:RequestDirectives=Honour");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        string fields = control.Contains("stale", StringComparison.Ordinal) ? "" : "Cache-Control: max-stale\r\n";
        Assert.Equal(503, (await service.FetchAsync("/object/a", fields)).Head.Status);
        Assert.Equal(2, origin.RequestCount);
    }

    [Theory]
    [InlineData(500, true)]
    [InlineData(502, true)]
    [InlineData(503, true)]
    [InlineData(504, true)]
    [InlineData(501, false)]
    [InlineData(505, false)]
    [InlineData(404, false)]
    [InlineData(0, true)]
    [InlineData(1, true)]
    public async Task StaleIfError_StandsInForFailuresOnly(int status, bool isStale)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Number: 1 } => exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-if-error=60\r\n"),
            _ when status > 1 => exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nCache-Control: max-age=60\r\n\r\n"),
            _ when status == 1 => exchange.ClosedByServiceAsync(),
            _ => CloseAsync(exchange),
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:FillAttempts=1", "--Cache:OriginHeaderTimeout=2s", "--Cache:OriginIdleTimeout=3s");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await using RawClient client = await service.GetAsync("/object/a");
        if (status == 1)
        {
            await Eventually.TrueAsync(() => origin.RequestCount == 2, "the request that gets no answer");
            service.Time.Advance(TimeSpan.FromSeconds(2));
        }

        (RawResponse head, string body) = await client.ReadAsync();

        if (!isStale)
        {
            Assert.Equal(status, head.Status);
            await service.IsAtRestAsync();
            Assert.Equal(status == 404 ? 404 : 200, service.StoredHead("a").StatusCode);
            return;
        }

        string detail = status > 1 ? $"origin-{status}" : status == 1 ? "origin-header-timeout" : "origin-no-answer";
        int ttl = status == 1 ? -5 : -3;
        Assert.Equal((200, "hello", $"{5 - ttl}"), (head.Status, body, head["Age"]));
        Assert.Equal($"CachingService; fwd=stale; ttl={ttl}; detail={detail}", head.CacheStatus);
        Assert.Single(service.Log.Warnings);
        await service.IsAtRestAsync();
        Assert.Equal(200, service.StoredHead("a").StatusCode);
    }

    [Theory]
    [InlineData("max-age=5, stale-if-error=60", "0s")]
    [InlineData("max-age=5", "60s")]
    public async Task StaleIfError_GoesToAllWhoWaitAndTheOriginIsLeftAloneForAWhile(string control, string option)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await exchange.AnswerAsync("hello", $"Cache-Control: {control}\r\n{Tag}");
                return;
            }

            await joined.Task;
            await exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:StaleIfError={option}", "--Cache:ErrorTtl=2s");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal("CachingService; fwd=stale; ttl=-3; detail=origin-503", (await leader.ReadAsync()).Head.CacheStatus);
        (RawResponse other, string body) = await waiter.ReadAsync();
        Assert.Equal(("hello", "CachingService; fwd=stale; ttl=-3; collapsed; detail=origin-503"), (body, other.CacheStatus));
        service.Time.Advance(TimeSpan.FromSeconds(2) - TimeSpan.FromTicks(1));
        Assert.Equal("CachingService; hit; ttl=-4; detail=origin-failed", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal(2, origin.RequestCount);
        service.Time.Advance(TimeSpan.FromTicks(1));
        Assert.Equal("CachingService; fwd=stale; ttl=-5; detail=origin-503", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal((3, 2), (origin.RequestCount, service.Log.Warnings.Count));

        service.Time.Advance(TimeSpan.FromSeconds(55));
        Assert.Equal(503, (await service.FetchAsync("/object/a")).Head.Status);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(0)]
    [InlineData(503)]
    public async Task ValidationInTheBackground_ThatFails_IsLoggedOnceAndNotRepeatedAtOnce(int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Number: 1 } => exchange.AnswerAsync("hello", $"Cache-Control: max-age=5, stale-while-revalidate=60\r\nConnection: close\r\n{Tag}"),
            _ when status == 0 => CloseAsync(exchange),
            _ => exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nCache-Control: max-age=60\r\n\r\n"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        // Nobody waits, and a failed attempt is made good all the same.
        int attempts = status == 0 ? 2 : 1;
        for (int count = 0; count < 3; count++)
        {
            (RawResponse stale, string body) = await service.FetchAsync("/object/a");
            Assert.Equal(("hello", $"CachingService; hit; ttl=-1{(count == 0 ? "" : "; detail=origin-failed")}"), (body, stale.CacheStatus));
            await service.IsAtRestAsync();
        }

        Assert.Equal((1 + attempts, 1), (origin.RequestCount, service.Log.Warnings.Count));
        service.Time.Advance(TimeSpan.FromSeconds(1));
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        Assert.Equal((1 + (2 * attempts), 2), (origin.RequestCount, service.Log.Warnings.Count));
    }

    [Fact]
    public async Task ValidationInTheBackground_BringsANewBody()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=5, stale-while-revalidate=60\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();

        (RawResponse hit, string body) = await service.FetchAsync("/object/a");
        Assert.Equal(("2", "CachingService; hit; ttl=5"), (body, hit.CacheStatus));
    }

    [Fact]
    public async Task ValidationInTheBackground_CountsAgainstTheCap()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target == "/slow")
            {
                await exchange.ClosedByServiceAsync();
            }

            await exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-while-revalidate=60\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxFills=1");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient slow = await service.GetAsync("/object/slow");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the only fill");

        Assert.Equal("CachingService; hit; ttl=-1", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal((1, 2), (service.Host.Cache.Fills.ActiveCount, origin.RequestCount));
    }

    [Fact]
    public async Task ValidationInTheBackground_EndsWithTheService()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("hello", "Cache-Control: max-age=5, stale-while-revalidate=60\r\n")
            : exchange.ClosedByServiceAsync());
        await using (TestService service = await TestService.StartAsync(origin.Url))
        {
            await service.StoreAsync("/object/a");
            service.Time.Advance(TimeSpan.FromSeconds(5));
            await service.FetchAsync("/object/a");
            await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
            await service.DisposeAsync().AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            Assert.Equal(0, service.Host.Cache.Fills.ActiveCount);
            Assert.Empty(service.Log.Warnings);
        }

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the validation's connection closed");
    }

    private static Task CloseAsync(OriginExchange exchange)
    {
        exchange.Close();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task ValidationThatNobodyWaitsFor_IsNoFillThatAllHaveLeft()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await exchange.AnswerAsync("old", "Cache-Control: max-age=5, stale-while-revalidate=60\r\n");
                return;
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nn");
            await go.Task;
            await exchange.SendAsync("ew");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:BackgroundFillBytes=0");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal("old", (await service.FetchAsync("/object/a")).Body);
        await Eventually.TrueAsync(() => service.Host.Cache.Ledger.InFlightBytes == 3, "room for the new body");
        go.SetResult();
        await service.IsAtRestAsync();

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        Assert.Equal(("new", "CachingService; hit; ttl=60", 2), (body, head.CacheStatus, origin.RequestCount));
    }

    [Fact]
    public async Task FillThatAllHaveLeft_IsNoFailureOfTheOrigin()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number != 2)
            {
                await exchange.AnswerAsync(exchange.Number == 1 ? "old" : "new", "Cache-Control: max-age=5, stale-if-error=60\r\n");
                return;
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\n\r\nn");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:BackgroundFillBytes=0");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        client.Vanish();
        await service.IsAtRestAsync();

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        Assert.Equal(("new", "CachingService; fwd=stale; fwd-status=200; stored"), (body, head.CacheStatus));
    }

    [Fact]
    public async Task StaleVariant_BehindAnErrorPageForAll_StillStandsIn()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? exchange.AnswerAsync("one", "Cache-Control: max-age=5, stale-if-error=60\r\nVary: Accept-Language\r\n")
            : exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nno"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a", "Accept-Language: 1\r\n");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal("no", (await service.FetchAsync("/object/a", "Accept-Language: 2\r\n")).Body);
        service.Time.Advance(TimeSpan.FromSeconds(2));

        Assert.Equal("one", (await service.FetchAsync("/object/a", "Accept-Language: 1\r\n")).Body);
    }
}
