using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Load;

/// <summary>What a service refuses at each step, and what it goes on with.</summary>
public sealed class SheddingTests : IAsyncLifetime
{
    /// <summary>Long beside what a busy machine needs to accept a connection: that is measured by the kernel's clock, which goes on.</summary>
    private const int TargetMilliseconds = 500;

    private TaskCompletionSource _rest = new();
    private ScriptedOrigin _origin = null!;
    private TestService _service = null!;

    public async ValueTask InitializeAsync()
    {
        _origin = new(async exchange =>
        {
            await _rest.Task;
            await exchange.AnswerAsync("hello", "Cache-Control: max-age=60, stale-if-error=3600\r\n");
        });
        _service = await TestService.StartAsync(_origin.Url, "--Cache:MaxPasses=10", $"--Cache:OverloadDelay={TargetMilliseconds}ms");
        _rest.SetResult();
        await _service.FetchAsync("/object/stored");
        _rest = new();
    }

    public async ValueTask DisposeAsync()
    {
        _rest.TrySetResult();
        await _service.DisposeAsync();
        await _origin.DisposeAsync();
    }

    [Fact]
    public async Task NoNewFills_HitsAndJoinersStay_FillsAndPassesAreRefused()
    {
        await using RawClient first = await StartFillAsync();
        await ReachAsync(LoadStep.NoNewFills);

        await AssertRefusedAsync("/object/other");
        await AssertRefusedAsync("/object/other", "Cookie: a=b\r\n");
        Assert.Equal(503, (await _service.FetchAsync("/object/other", method: "POST")).Head.Status);
        await AssertHitAsync();
        await using RawClient second = await _service.GetAsync("/object/a");
        await _service.JoinedAsync(1);
        _rest.SetResult();
        Assert.Equal("hello", (await first.ReadAsync()).Body);
        Assert.Equal("hello", (await second.ReadAsync()).Body);
        Assert.Equal((3L, "overload=3"), (_service.Host.Cache.Load.Refusals, _service.ReasonsOf("cache_refusals_total")));
    }

    [Fact]
    public async Task NoNewWaiters_HitsStay_NobodyJoinsBeforeHeaders()
    {
        await using RawClient first = await StartFillAsync();
        await ReachAsync(LoadStep.NoNewWaiters);

        await AssertRefusedAsync("/object/a");
        await AssertHitAsync();
        _rest.SetResult();
        Assert.Equal("hello", (await first.ReadAsync()).Body);
    }

    [Fact]
    public async Task NoNewConnections_OldOnesHaveHits_NewOnesAreRefusedAndClosed()
    {
        await using RawClient old = await _service.GetAsync("/object/stored");
        Assert.Equal(200, (await old.ReadAsync()).Head.Status);
        await ReachAsync(LoadStep.NoNewConnections);

        await using RawClient late = await _service.GetAsync("/object/stored");
        (RawResponse head, _) = await late.ReadAsync();
        AssertRefused(head);
        Assert.Equal("close", head["Connection"]);
        Assert.Equal("", await late.ReadToCloseAsync());

        await old.SendAsync("/object/stored");
        Assert.Equal(200, (await old.ReadAsync()).Head.Status);

        // Nobody is told that the process is ill.
        Assert.Equal(200, (await _service.FetchAsync("/health")).Head.Status);
    }

    [Fact]
    public async Task HalfOfRequests_OfOldConnections_AreRefusedAndClosed()
    {
        List<RawClient> old = [];
        for (int i = 0; i < 8; i++)
        {
            old.Add(await _service.GetAsync("/object/stored"));
            await old[i].ReadAsync();
        }

        await ReachAsync(LoadStep.HalfOfRequests);
        int refused = 0;
        foreach (RawClient client in old)
        {
            await client.SendAsync("/object/stored");
            (RawResponse head, _) = await client.ReadAsync();
            if (head.Status != 200)
            {
                AssertRefused(head);
                Assert.Equal("close", head["Connection"]);
                refused++;
            }

            await client.DisposeAsync();
        }

        Assert.Equal(4, refused);
    }

    [Fact]
    public async Task HalfOfRequests_AreToldInTheAccessLogAsTheyAreCounted()
    {
        _service.Host.Metrics.TellsOfRequests = true;
        ObjectHandler objects = _service.Host.Cache.Gate.Before(static (_, _) => Task.CompletedTask);
        await AskAsync();
        await ReachAsync(LoadStep.HalfOfRequests);
        long counted = _service.Host.Metrics.Durations.Of(RequestOutcome.Own).Count;

        RequestOutcome?[] outcomes = [await AskAsync(), await AskAsync()];

        Assert.Equal(counted + 1, _service.Host.Metrics.Durations.Of(RequestOutcome.Own).Count);
        Assert.Equal([null, RequestOutcome.Own], outcomes.Order());

        async Task<RequestOutcome?> AskAsync()
        {
            DefaultHttpContext context = new();
            ServedRequest served = ServedRequest.Begin(context, isTimed: false);
            await objects(context, default);
            return served.Outcome;
        }
    }

    [Fact]
    public async Task NoNewConnections_StepEndsBeforeTheFirstRequest_ConnectionIsServedForGood()
    {
        await ReachAsync(LoadStep.NoNewConnections);
        await using RawClient client = await _service.GetAsync("/health");
        Assert.Equal(200, (await client.ReadAsync()).Head.Status);
        _service.Time.Advance(TimeSpan.FromSeconds(1));
        await client.SendAsync("/object/stored");
        Assert.Equal(200, (await client.ReadAsync()).Head.Status);
        await ReachAsync(LoadStep.NoNewConnections);
        await client.SendAsync("/object/stored");
        Assert.Equal(200, (await client.ReadAsync()).Head.Status);
    }

    [Fact]
    public async Task NoNewFills_WhereAStaleObjectMayStandIn_ServesThat()
    {
        _service.Time.Advance(TimeSpan.FromSeconds(61));
        await _service.FetchAsync("/health");
        await ReachAsync(LoadStep.NoNewFills);

        (RawResponse stale, string body) = await _service.FetchAsync("/object/stored");

        Assert.Equal("hello", body);
        Assert.EndsWith("; detail=overload", stale.CacheStatus, StringComparison.Ordinal);
        Assert.Equal((1, 0L), (_origin.RequestCount, _service.Host.Cache.Load.Refusals));
    }

    [Fact]
    public async Task Recovery_LoopIsInTimeAgain_EverythingIsServed()
    {
        await ReachAsync(LoadStep.NoNewConnections);
        _rest.SetResult();
        for (int i = 0; _service.Host.Cache.Load.Highest != LoadStep.Normal; i++)
        {
            // What is measured on the way is measured on a clock that stands: no delay.
            Assert.True(i < 50, $"After {i} requests in time it still is {_service.Host.Cache.Load.Highest}.");
            _service.Time.Advance(TimeSpan.FromMilliseconds(30));
            await _service.FetchAsync("/object/stored");
        }

        Assert.Equal(200, (await _service.FetchAsync("/object/other")).Head.Status);
    }

    [Fact]
    public async Task OverloadDelay_Zero_MeasuresNothing()
    {
        await using TestService service = await TestService.StartAsync(_origin.Url, "--Cache:OverloadDelay=0");
        _rest.SetResult();
        await service.FetchAsync("/object/a");
        Assert.Empty(service.Host.Cache.Load.Probes);
        Assert.Equal(LoadStep.Normal, service.Host.Cache.Load.Highest);
    }

    private async Task<RawClient> StartFillAsync()
    {
        RawClient first = await _service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => _origin.RequestCount == 2 && _service.Host.Cache.Waiting.Count == 1, "first at the origin");
        return first;
    }

    /// <summary>Every loop is as late as the step wants it. The clock stands then, so nothing else is measured.</summary>
    private async Task ReachAsync(LoadStep step)
    {
        TimeSpan delay = TimeSpan.FromMilliseconds(TargetMilliseconds * (1 << ((int)step - 1)));
        await AskAllLoopsAsync();
        for (TimeSpan time = default; time < (DelayWindow.Length * 2) + (delay * DelayWindow.LeastDelays * 2); time += delay)
        {
            _service.Time.Advance(delay);
            foreach (LoopProbe probe in _service.Host.Cache.Load.Probes)
            {
                probe.OnMeasured(delay);
            }
        }

        Assert.Equal(step, _service.Host.Cache.Load.Highest);
    }

    /// <summary>Connections are dealt in turn: as many requests as there are loops reach each of them.</summary>
    private async Task AskAllLoopsAsync()
    {
        for (int i = 0; i < Environment.ProcessorCount * 2; i++)
        {
            await _service.FetchAsync("/object/");
        }
    }

    private async Task AssertHitAsync()
    {
        (RawResponse head, string body) = await _service.FetchAsync("/object/stored");
        Assert.Equal("hello", body);
        Assert.StartsWith("CachingService; hit; ttl=", head.CacheStatus, StringComparison.Ordinal);
    }

    private async Task AssertRefusedAsync(string target, string fields = "") => AssertRefused((await _service.FetchAsync(target, fields)).Head);

    private static void AssertRefused(RawResponse head) => Assert.Equal(
        (503, "1", "no-store", "CachingService; detail=overload"),
        (head.Status, head["Retry-After"], head["Cache-Control"], head.CacheStatus));
}
