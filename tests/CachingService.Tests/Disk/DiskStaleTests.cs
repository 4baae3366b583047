using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Disk;

/// <summary>What becomes of an object on the disk that is stale when somebody asks for it, 10 s after its lifetime.</summary>
public sealed class DiskStaleTests
{
    private const string Plain = "valid:public";

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task WithAValidator_IsConfirmedAndStaysAsItWas(bool isStartedAnew)
    {
        await using DiskScene scene = await StartAsync(Plain, isStartedAnew);
        scene.OnValidation = static exchange => exchange.SendAsync(
            "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=30\r\nX-New: yes\r\n\r\n");

        (RawResponse head, string body) = await scene.Service.FetchAsync($"/object/{Plain}");

        Assert.True(body == DiskScene.BodyOf($"/{Plain}"));
        Assert.Equal(
            ("CachingService; fwd=stale; fwd-status=304", "yes", "one, two", "0"),
            (head.CacheStatus, head["X-New"], head["X-Field"], head["Age"]));
        Assert.Equal("CachingService; hit; ttl=30", await scene.GetAsync(Plain));
        Assert.Equal(3, scene.Origin.RequestCount);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task Confirmed_IsWrittenWithItsNewHead()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.SendAsync(
            "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=30\r\nX-New: yes\r\n\r\n");
        await scene.DemoteAsync(Plain, by: "another");
        await RestartAsync(scene);

        RawResponse head = (await scene.Service.FetchAsync($"/object/{Plain}")).Head;

        Assert.Equal(("CachingService; hit; ttl=30; detail=disk", "yes"), (head.CacheStatus, head["X-New"]));
    }

    [Fact]
    public async Task ThatIsAnsweredByAnErrorOfTheClients_StaysAsItWas()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 403 X\r\nContent-Length: 2\r\n\r\nno");
        Assert.Equal(403, (await scene.Service.FetchAsync($"/object/{Plain}")).Head.Status);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=30\r\n\r\n");

        Assert.Equal("CachingService; fwd=stale; fwd-status=304", await scene.GetAsync(Plain));
    }

    [Fact]
    public async Task ThatHasChanged_IsReplaced()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.AnswerAsync(
            DiskScene.BodyOf(exchange.Target), "Cache-Control: max-age=30\r\nETag: \"two\"\r\n");
        int before = scene.Service.Host.Cache.Disk!.Count;

        Assert.Equal("CachingService; fwd=stale; fwd-status=200; stored", await scene.GetAsync(Plain));

        Assert.Equal("CachingService; hit; ttl=30", await scene.GetAsync(Plain));
        Assert.Equal((0L, 0L), (scene.Service.Host.Cache.Disk.Metrics.Promotions, scene.Service.Host.Metrics.OriginFailures));
        await Eventually.TrueAsync(() => scene.Service.Host.Cache.Disk.Count == before - 1, "the old one has gone");
    }

    [Theory]
    [InlineData("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "origin-503")]
    [InlineData("no status line\r\n", "origin-bad-response")]
    public async Task ThatMayStandInForAnError_Does(string answer, string detail)
    {
        const string Name = "valid:stale-if-error_100";
        await using DiskScene scene = await StartAsync(Name, "--Cache:FillAttempts=1");
        scene.OnValidation = exchange => exchange.SendAsync(answer);

        Assert.Equal($"CachingService; fwd=stale; ttl=-10; detail={detail}", await scene.GetAsync(Name));

        Assert.Contains(scene.Service.Log.Warnings, line => line.Contains("1 requests get a stale object", StringComparison.Ordinal));
        await scene.Service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task PurgedWhileTheOriginIsAsked_StandsInForNothing(bool isSoft)
    {
        const string Name = "valid:stale-if-error_100";
        await using DiskScene scene = await StartAsync(Name, "--Cache:FillAttempts=1");
        scene.OnValidation = exchange =>
        {
            scene.Service.Host.Cache.Purger.Purge(Purge.OfAll(isSoft));
            return exchange.SendAsync("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        };

        Assert.Equal(503, (await scene.Service.FetchAsync($"/object/{Name}")).Head.Status);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task ThatMayNotStandIn_IsTheError()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");

        Assert.Equal(503, (await scene.Service.FetchAsync($"/object/{Plain}")).Head.Status);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task ThatMayPrecedeItsValidation_IsServedAtOnce()
    {
        const string Name = "valid:stale-while-revalidate_100";
        await using DiskScene scene = await StartAsync(Name);

        Assert.Equal("CachingService; hit; ttl=-10; detail=disk", await scene.GetAsync(Name));
        Assert.Equal(2, scene.Origin.RequestCount);

        // Then it is in memory, where the next request has it validated.
        Assert.Equal("CachingService; hit; ttl=-10", await scene.GetAsync(Name));
        await Eventually.TrueAsync(() => scene.Origin.RequestCount == 3, "the origin is asked");
    }

    [Fact]
    public async Task ConfirmedForOneClientAlone_LeavesTheDisk()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: private\r\n\r\n");

        Assert.Equal("CachingService; fwd=stale; fwd-status=200; stored", await scene.GetAsync(Plain));
        Assert.Equal((4, 1L), (scene.Origin.RequestCount, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale)));
    }

    [Fact]
    public async Task RepliedToByWhatIsForOneClient_LeavesTheDisk()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.AnswerAsync(DiskScene.BodyOf(exchange.Target), "Cache-Control: private\r\n");

        Assert.Equal("CachingService; fwd=stale; fwd-status=200; detail=private", await scene.GetAsync(Plain));
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale));
    }

    [Fact]
    public async Task RepliedToByAnotherVariant_LeavesTheDisk()
    {
        await using DiskScene scene = await StartAsync(Plain);
        scene.OnValidation = static exchange => exchange.AnswerAsync(
            DiskScene.BodyOf(exchange.Target), "Cache-Control: max-age=30\r\nVary: X-Kind\r\n");

        Assert.Equal("CachingService; fwd=stale; fwd-status=200; stored", await scene.GetAsync(Plain));
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale));
    }

    [Fact]
    public async Task ConfirmedWhileMemoryIsFull_StaysOnTheDisk()
    {
        await using DiskScene scene = await StartAsync(Plain);
        await RestartWithoutMemoryAsync(scene);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=30\r\n\r\n");

        Assert.StartsWith("CachingService; fwd=stale; fwd-status=304", await scene.GetAsync(Plain), StringComparison.Ordinal);
        await scene.Service.IsAtRestAsync();
        Assert.StartsWith("CachingService; fwd=stale; fwd-status=304", await scene.GetAsync(Plain), StringComparison.Ordinal);
    }

    [Fact]
    public async Task ThatStandsInWhileMemoryIsFull_StaysOnTheDisk()
    {
        const string Name = "valid:stale-if-error_100";
        await using DiskScene scene = await StartAsync(Name, "--Cache:FillAttempts=1");
        await RestartWithoutMemoryAsync(scene, "--Cache:FillAttempts=1");
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");

        Assert.StartsWith("CachingService; fwd=stale; ttl=-10; detail=origin-503", await scene.GetAsync(Name), StringComparison.Ordinal);
        await scene.Service.IsAtRestAsync();
        Assert.StartsWith("CachingService; fwd=stale; ttl=-10; detail=origin-503", await scene.GetAsync(Name), StringComparison.Ordinal);
    }

    [Fact]
    public async Task OfNoUseAnyMore_IsDropped()
    {
        await using DiskScene scene = await StartAsync(Plain, "--Cache:KeepStale=9s");

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync(Plain), StringComparison.Ordinal);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale));
    }

    private static Task<DiskScene> StartAsync(string name, params string[] options) => StartAsync(name, isStartedAnew: false, options);

    /// <summary>With an object on the disk that was good for 60 s, 70 s ago.</summary>
    private static async Task<DiskScene> StartAsync(string name, bool isStartedAnew, params string[] options)
    {
        DiskScene scene = await DiskScene.StartAsync(options);
        await scene.DemoteAsync(name);
        scene.Service.Time.Advance(TimeSpan.FromSeconds(70));
        if (isStartedAnew)
        {
            await RestartAsync(scene);
        }

        return scene;
    }

    /// <summary>What is being received is more than may be from its first piece on, so that it is not stored.</summary>
    private static Task RestartWithoutMemoryAsync(DiskScene scene, params string[] options)
    {
        scene.Options = [.. options, "--Cache:MaxInFlightBytes=1KiB"];
        return RestartAsync(scene);
    }

    /// <summary>At the same time of day.</summary>
    private static async Task RestartAsync(DiskScene scene)
    {
        DateTimeOffset now = scene.Service.Time.GetUtcNow();
        await scene.RestartAsync();
        scene.Service.Time.Advance(now - scene.Service.Time.GetUtcNow());
    }
}
