using System.Net.WebSockets;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Tests.Serving;

/// <summary>How many connections of other protocols there may be, and what becomes of them at a drain.</summary>
public sealed class UpgradeLimitTests
{
    [Fact]
    public async Task Connections_HaveALimitOfTheirOwn()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(UpgradeTests.Switched);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MaxUpgrades=2", "--Cache:MaxPasses=1", "--Cache:OriginMaxPasses=1");
        await using (RawClient client = await service.GetAsync("/object/a", UpgradeTests.Asked))
        {
            Assert.Equal(101, (await client.ReadHeadAsync()).Status);
            await using RawClient second = await service.GetAsync("/object/a", UpgradeTests.Asked);
            Assert.Equal(101, (await second.ReadHeadAsync()).Status);
            Assert.Contains("cache_upgrades_active 2\n", service.Host.Cache.Collector.Write(), StringComparison.Ordinal);

            (RawResponse refused, _) = await service.FetchAsync("/object/a", UpgradeTests.Asked);
            Assert.Equal((503, "CachingService; detail=too-many-upgrades"), (refused.Status, refused.CacheStatus));
            Assert.Equal("too-many-upgrades=1", service.ReasonsOf("cache_refusals_total"));
        }

        await service.IsAtRestAsync();
        await Eventually.TrueAsync(() => service.Host.Metrics.Durations.Of(RequestOutcome.Upgrade).Count == 2, "both have ended");
        Assert.Equal(1, service.Host.Metrics.Durations.Of(RequestOutcome.Pass).Count);
        await using RawClient next = await service.GetAsync("/object/a", UpgradeTests.Asked);
        Assert.Equal(101, (await next.ReadHeadAsync()).Status);
    }

    /// <summary>Until then the origin is at work on it, as on any other pass.</summary>
    [Theory]
    [InlineData("--Cache:MaxPasses=1", "too-many-passes")]
    [InlineData("--Cache:OriginMaxPasses=1", "too-many-passes-at-origin")]
    public async Task Connections_CountAsPasses_UntilTheOriginHasSwitched(string option, string detail)
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await go.Task;
            await exchange.SendAsync(UpgradeTests.Switched);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, option);
        await using RawClient client = await service.GetAsync("/object/a", UpgradeTests.Asked);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the origin is asked");

        Assert.Equal($"CachingService; detail={detail}", (await service.FetchAsync("/object/a", UpgradeTests.Asked)).Head.CacheStatus);
        Assert.Equal((1, 1), (service.Host.Metrics.ActivePasses, service.Host.Metrics.ActiveUpgrades));

        go.SetResult();
        Assert.Equal(101, (await client.ReadHeadAsync()).Status);
        Assert.Equal((0, 1), (service.Host.Metrics.ActivePasses, service.Host.Metrics.ActiveUpgrades));
    }

    /// <summary>After the delay, in which its client would connect here again; in order, with all bytes that were on their way.</summary>
    [Theory]
    [MemberData(nameof(UpgradeTests.EachTransport), MemberType = typeof(UpgradeTests))]
    public async Task Drain_EndsThemInOrder_WithinHalfOfItsTime(string transport)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(UpgradeTests.Switched);
            Assert.Equal("ping", await exchange.ReadBodyAsync(4));
            await exchange.SendAsync("pong");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, drain: TimeSpan.FromSeconds(20), $"--Transport={transport}", "--DrainDelay=30s");
        await using RawClient client = await service.GetAsync("/object/a", UpgradeTests.Asked);
        await client.ReadHeadAsync();

        Task stopped = service.Host.StopAsync();
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(30)), "the delay");
        await client.SendRawAsync("ping");
        Assert.Equal("pong", await client.ReadExactlyAsync(4));
        Assert.Equal(1, service.Host.Metrics.ActiveUpgrades);
        service.Time.Advance(TimeSpan.FromSeconds(30));
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(10)), "the connection is to end");
        service.Time.Advance(TimeSpan.FromSeconds(10));

        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.False(client.IsReset);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin sees the end");
        await stopped.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Drain_EndsAStreamOfHttp2()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(UpgradeTests.Switched);
            await exchange.ClosedByServiceAsync(mayRead: 100);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, drain: TimeSpan.FromSeconds(20), "--Protocols=Http2");
        using ClientWebSocket client = new();
        await UpgradeTests.ConnectAsync(client, service);

        Task stopped = service.Host.StopAsync();
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(10)), "the stream is to end");
        service.Time.Advance(TimeSpan.FromSeconds(10));

        WebSocketException end = await Assert.ThrowsAsync<WebSocketException>(() => client.ReceiveAsync(new byte[16], TestContext.Current.CancellationToken)
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        Assert.Equal(WebSocketError.ConnectionClosedPrematurely, end.WebSocketErrorCode);

        // Its stream lasts until it ends its side too.
        client.Dispose();
        await stopped.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin sees the end");
    }
}
