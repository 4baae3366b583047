using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>One address that fails and comes back, how many requests may be there, and the pauses between attempts.</summary>
public sealed class CircuitTests
{
    [Fact]
    public async Task Failures_InARow_OpenTheCircuitAndEverybodyGets503AtOnce()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("back"), isListening: false);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=2");
        Assert.Equal(502, (await service.FetchAsync("/object/a")).Head.Status);
        Assert.Equal(502, (await service.FetchAsync("/object/a")).Head.Status);
        service.Time.Advance(TimeSpan.FromSeconds(10));
        origin.Listen();

        foreach ((string method, string fields) in new[] { ("GET", ""), ("GET", "Cookie: a=b\r\n"), ("POST", "Content-Length: 0\r\n"), ("HEAD", "") })
        {
            (RawResponse head, _) = await service.FetchAsync("/object/c", fields, method);
            Assert.Equal(
                (503, "20", "no-store", "CachingService; detail=origin-circuit-open"),
                (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus));
        }

        Assert.Equal((0, "origin-circuit-open=4"), (origin.RequestCount, service.ReasonsOf("cache_refusals_total")));
        Assert.Single(service.Log.Warnings, line => line.Contains($"Origin {origin.Url} is not asked for", StringComparison.Ordinal));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task TimeOver_OneRequestTriesAndItsAnswerDecides(bool isBack)
    {
        TaskCompletionSource answer = new();
        await using ScriptedOrigin origin = new(
            async exchange =>
            {
                if (exchange.Target == "/trial")
                {
                    await (isBack ? answer.Task : exchange.ClosedByServiceAsync());
                }

                await exchange.AnswerAsync("back");
            },
            isListening: false);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=1", "--Cache:OriginHeaderTimeout=5s");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(30));
        origin.Listen();

        await using RawClient trial = await service.GetAsync("/object/trial");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the trial");
        (RawResponse other, _) = await service.FetchAsync("/object/b");
        Assert.Equal(("1", "CachingService; detail=origin-circuit-open"), (other["Retry-After"], other.CacheStatus));
        answer.SetResult();
        service.Time.Advance(TimeSpan.FromSeconds(isBack ? 0 : 5));

        Assert.Equal(isBack ? 200 : 504, (await trial.ReadAsync()).Head.Status);
        (RawResponse next, _) = await service.FetchAsync("/object/c");
        Assert.Equal(isBack ? 200 : 503, next.Status);
        Assert.Equal(isBack ? 2 : 1, origin.RequestCount);
        Assert.Equal(isBack ? null : "30", next["Retry-After"]);
    }

    [Fact]
    public async Task Failure_OfARequestFromBefore_DoesNotKeepTheCircuitOpenForLonger()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.Target == "/trial" ? exchange.AnswerAsync("back") : exchange.ClosedByServiceAsync());
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=1", "--Cache:OriginHeaderTimeout=20s");
        await using RawClient before = await service.GetAsync("/object/late");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the request from before");
        origin.StopListening();
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal(504, (await before.ReadAsync()).Head.Status);
        service.Time.Advance(TimeSpan.FromSeconds(10));
        origin.Listen();

        Assert.Equal("back", (await service.FetchAsync("/object/trial")).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Trial_WhoseClientLeaves_LeavesTheTrialToTheNext()
    {
        await using ScriptedOrigin origin = new(
            exchange => exchange.Target == "/trial" ? exchange.ClosedByServiceAsync() : exchange.AnswerAsync("back"), isListening: false);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=1");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(30));
        origin.Listen();
        await using RawClient trial = await service.GetAsync("/object/trial", "Cookie: a=b\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the trial");
        trial.Vanish();
        await service.IsAtRestAsync();

        Assert.Equal("back", (await service.FetchAsync("/object/b")).Body);
        Assert.Equal("back", (await service.FetchAsync("/object/c")).Body);
    }

    [Fact]
    public async Task Circuit_SwitchedOff_StaysClosed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("back"), isListening: false);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=0");

        for (int count = 0; count < 10; count++)
        {
            Assert.Equal("CachingService; detail=origin-unreachable", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        }

        origin.Listen();
        Assert.Equal("back", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData(1, 3, false)]
    [InlineData(2, 2, true)]
    public async Task Silence_OpensTheCircuitIfItMeetsSeveralKeys(int keys, int requests, bool isOpened)
    {
        await using ScriptedOrigin origin = new(SilentUnlessHealthyAsync);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=2", "--Cache:OriginHeaderTimeout=5s");
        for (int count = 1; count <= requests; count++)
        {
            await using RawClient client = await service.GetAsync($"/object/silent{count % keys}");
            await Eventually.TrueAsync(() => origin.RequestCount == count && service.Time.ArmedTimers == 1, "the wait for headers");
            service.Time.Advance(TimeSpan.FromSeconds(5));
            Assert.Equal(504, (await client.ReadAsync()).Head.Status);
        }

        RawResponse head = (await service.FetchAsync("/object/healthy")).Head;

        Assert.Equal(isOpened ? 503 : 200, head.Status);
    }

    [Fact]
    public async Task Silence_WhileOthersAreAnswered_SaysNothingOfTheAddress()
    {
        await using ScriptedOrigin origin = new(SilentUnlessHealthyAsync);
        await using TestService service = await StartAsync(origin, "--Cache:OriginEjectAfter=2", "--Cache:OriginHeaderTimeout=5s");
        RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, 4).Select(number => service.GetAsync($"/object/silent{number}")));
        await Eventually.TrueAsync(() => origin.RequestCount == 4 && service.Time.ArmedTimers == 4, "the wait for headers");
        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal("well", (await service.FetchAsync("/object/healthy1")).Body);
        service.Time.Advance(TimeSpan.FromSeconds(4));
        foreach (RawClient client in clients)
        {
            Assert.Equal(504, (await client.ReadAsync()).Head.Status);
            await client.DisposeAsync();
        }

        Assert.Equal("well", (await service.FetchAsync("/object/healthy2")).Body);
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
        Assert.Equal($"{detail}=1", service.ReasonsOf("cache_refusals_total"));
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
        await Eventually.TrueAsync(() => service.Host.Cache.Fills.Describe().All(fill => fill.Readers == 0), "it has left the fill");

        service.Time.Advance(TimeSpan.FromSeconds(10));

        await service.IsAtRestAsync();
        Assert.Equal((1, 1L), (origin.RequestCount, service.Host.Metrics.OriginFailures));
    }

    private static Task<TestService> StartAsync(ScriptedOrigin origin, params string[] options) =>
        TestService.StartAsync(origin.Url, ["--Cache:FillAttempts=1", "--Cache:OriginEjectTime=30s", .. options]);

    private static Task SilentUnlessHealthyAsync(OriginExchange exchange) => exchange.Target.StartsWith("/healthy", StringComparison.Ordinal)
        ? exchange.AnswerAsync("well")
        : exchange.ClosedByServiceAsync();
}
