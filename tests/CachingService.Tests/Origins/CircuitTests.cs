using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>One address that fails and comes back, how many requests may be there, and the pauses between attempts.</summary>
public sealed class CircuitTests
{
    private const string Unavailable = "HTTP/1.1 503 X\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n";

    [Fact]
    public async Task Failures_InARow_OpenTheCircuitAndEverybodyGets503AtOnce()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Unavailable));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:OriginEjectAfter=2", "--Cache:OriginEjectTime=30s", "--Cache:HitForMissTtl=0");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b");
        service.Time.Advance(TimeSpan.FromSeconds(10));

        foreach ((string method, string fields) in new[] { ("GET", ""), ("GET", "Cookie: a=b\r\n"), ("POST", "Content-Length: 0\r\n"), ("HEAD", "") })
        {
            (RawResponse head, _) = await service.FetchAsync("/object/c", fields, method);
            Assert.Equal(
                (503, "20", "no-store", "CachingService; detail=origin-circuit-open"),
                (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus));
        }

        Assert.Equal((2, 4L), (origin.RequestCount, service.Host.Metrics.Refusals));
        Assert.Contains($"Origin {origin.Url} is not asked for", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task TimeOver_OneRequestTriesAndItsAnswerDecides(bool isBack)
    {
        TaskCompletionSource answer = new();
        bool isDown = true;
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target == "/trial")
            {
                await answer.Task;
            }

            await (isDown ? exchange.SendAsync(Unavailable) : exchange.AnswerAsync("back"));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginEjectAfter=1", "--Cache:OriginEjectTime=30s");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(30));
        isDown = !isBack;

        await using RawClient trial = await service.GetAsync("/object/trial");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the trial");
        (RawResponse other, _) = await service.FetchAsync("/object/b");
        Assert.Equal(("1", "CachingService; detail=origin-circuit-open"), (other["Retry-After"], other.CacheStatus));
        answer.SetResult();

        Assert.Equal(isBack ? 200 : 503, (await trial.ReadAsync()).Head.Status);
        (RawResponse next, _) = await service.FetchAsync("/object/c");
        Assert.Equal(isBack ? 200 : 503, next.Status);
        Assert.Equal(isBack ? 3 : 2, origin.RequestCount);
        Assert.Equal(isBack ? null : "30", next["Retry-After"]);
    }

    [Fact]
    public async Task Failure_OfARequestFromBefore_DoesNotKeepTheCircuitOpenForLonger()
    {
        TaskCompletionSource late = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target == "/late")
            {
                await late.Task;
            }

            await (exchange.Target == "/trial" ? exchange.AnswerAsync("back") : exchange.SendAsync(Unavailable));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginEjectAfter=1", "--Cache:OriginEjectTime=30s");
        await using RawClient before = await service.GetAsync("/object/late");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request from before");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(20));
        late.SetResult();
        Assert.Equal(503, (await before.ReadAsync()).Head.Status);
        service.Time.Advance(TimeSpan.FromSeconds(10));

        Assert.Equal("back", (await service.FetchAsync("/object/trial")).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Trial_WhoseClientLeaves_LeavesTheTrialToTheNext()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Target switch
        {
            "/a" => exchange.SendAsync(Unavailable),
            "/trial" => exchange.ClosedByServiceAsync(),
            _ => exchange.AnswerAsync("back"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginEjectAfter=1", "--Cache:OriginEjectTime=30s");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(30));
        await using RawClient trial = await service.GetAsync("/object/trial", "Cookie: a=b\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the trial");
        trial.Vanish();
        await service.IsAtRestAsync();

        Assert.Equal("back", (await service.FetchAsync("/object/b")).Body);
        Assert.Equal("back", (await service.FetchAsync("/object/c")).Body);
    }

    [Fact]
    public async Task Circuit_SwitchedOff_StaysClosed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Unavailable));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:OriginEjectAfter=0", "--Cache:HitForMissTtl=0");

        for (int count = 0; count < 10; count++)
        {
            await service.FetchAsync("/object/a");
        }

        Assert.Equal(10, origin.RequestCount);
    }

    [Theory]
    [InlineData("--Cache:OriginMaxFills=1", "", "too-many-fills-at-origin")]
    [InlineData("--Cache:OriginMaxPasses=1", "Cookie: a=b\r\n", "too-many-passes-at-origin")]
    public async Task Places_AtAnAddress_AreHeldToTheEndOfTheBody(string option, string fields, string detail)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await using RawClient first = await service.GetAsync("/object/a", fields);
        RawResponse firstHead = await first.ReadHeadAsync();

        (RawResponse head, _) = await service.FetchAsync("/object/b", fields);

        Assert.Equal((503, "1", $"CachingService; detail={detail}"), (head.Status, head["Retry-After"], head.CacheStatus));
        rest.SetResult();
        Assert.Equal("abcdef", await first.ReadBodyAsync(firstHead));
        await service.IsAtRestAsync();
        Assert.Equal("abcdef", (await service.FetchAsync("/object/b", fields)).Body);
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task FullAddress_IsPassedOverForTheNext()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin first = new(async exchange =>
        {
            await rest.Task;
            await exchange.AnswerAsync("first");
        });
        await using ScriptedOrigin second = new(exchange => exchange.AnswerAsync("second"));
        await using TestService service = await TestService.StartAsync(
            "", $"--Cache:Origins={first.Url};{second.Url}", "--Cache:OriginMaxFills=1");
        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => first.RequestCount == 1, "the first address");

        Assert.Equal("second", (await service.FetchAsync("/object/b")).Body);
        rest.SetResult();
        Assert.Equal("first", (await client.ReadAsync()).Body);
    }

    [Fact]
    public async Task Attempts_AtTheSameAddress_HaveAPauseBetweenThem()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FillRetryDelay=1s");
        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => service.Host.Metrics.Fills == 1 && origin.RequestCount == 1, "the first attempt");
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(10)), "the pause");
        Assert.Equal(1, origin.RequestCount);

        service.Time.Advance(TimeSpan.FromSeconds(10));

        Assert.Equal("hello", (await client.ReadAsync()).Body);
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Attempt_ThatNobodyWaitsForAfterThePause_IsNotMade()
    {
        await using ScriptedOrigin origin = new(exchange =>
        {
            exchange.Close();
            return Task.CompletedTask;
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FillRetryDelay=1s");
        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(10)), "the pause");
        client.Vanish();
        await Eventually.TrueAsync(() => service.Host.Waiting.Count == 0, "nobody waits");

        // It has left the fill a moment later, which nothing tells.
        await service.FetchAsync("/health");

        service.Time.Advance(TimeSpan.FromSeconds(10));

        await service.IsAtRestAsync();
        Assert.Equal((1, 1L), (origin.RequestCount, service.Host.Metrics.OriginFailures));
    }
}
