using System.Collections.Concurrent;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Filling;

/// <summary>Fills over the limit wait for their turn (Cache:FetchQueueTime).</summary>
public sealed class FetchQueueTests : IDisposable
{
    private const string QueueTime = "--Cache:FetchQueueTime=10s";

    private readonly string _settings = Path.GetTempFileName();
    private readonly HeldAnswers _answers = new();

    public void Dispose() => File.Delete(_settings);

    [Fact]
    public async Task Fills_OverTheLimit_AreMadeInOrder_AndRequestsForOneKeyShareAPlace()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);
        await using RawClient third = await AskAsync(service, "c", waiting: 2);
        await using RawClient joined = await service.GetAsync("/object/b");
        await service.JoinedAsync(1);

        await AskedAsync(origin, 1);
        Assert.Equal(1, service.Host.Cache.Fills.Queue.Taken);
        Assert.Equal(
            [FillState.Requested, FillState.Queued, FillState.Queued],
            service.Host.Cache.Fills.Describe().Select(static fill => fill.State).Order().Reverse());
        _answers.Release("/a");
        Assert.Equal("/a", (await first.ReadAsync()).Body);
        await AskedAsync(origin, 2);
        _answers.Release("/b");
        Assert.Equal(("/b", "/b"), ((await second.ReadAsync()).Body, (await joined.ReadAsync()).Body));
        await AskedAsync(origin, 3);
        _answers.Release("/c");
        Assert.Equal("/c", (await third.ReadAsync()).Body);

        await service.IsAtRestAsync();
        Assert.Equal("/a,/b,/c", TargetsOf(origin));
        Assert.Equal(("place=2", 0L, 0), (service.ReasonsOf("cache_fills_waited_total"), service.Host.Metrics.Refusals, service.Host.Cache.Fills.Queue.Taken));
    }

    [Fact]
    public async Task Fill_ThatWaitsTooLong_FailsAsIfItHadNotWaited()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1", "--Cache:OriginHeaderTimeout=1h");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);
        await using RawClient joined = await service.GetAsync("/object/b");
        await service.JoinedAsync(1);
        service.Time.Advance(TimeSpan.FromSeconds(6));
        await using RawClient third = await AskAsync(service, "c", waiting: 2);

        service.Time.Advance(TimeSpan.FromSeconds(4));

        foreach (RawClient refused in (RawClient[])[second, joined])
        {
            RawResponse head = (await refused.ReadAsync()).Head;
            Assert.Equal((503, "1", "CachingService; detail=too-many-fills"), (head.Status, head["Retry-After"], head.CacheStatus));
        }

        _answers.Release("/a", "/c");
        Assert.Equal(("/a", "/c"), ((await first.ReadAsync()).Body, (await third.ReadAsync()).Body));
        await service.IsAtRestAsync();
        Assert.Equal("/a,/c", TargetsOf(origin));
        Assert.Equal(
            ("place=1,too-many-fills=1", "too-many-fills=2"),
            (service.ReasonsOf("cache_fills_waited_total"), service.ReasonsOf("cache_refusals_total")));
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Fill_ThatWaitsTooLong_LeavesAStaleObjectToStandIn()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(
            origin.Url, QueueTime, "--Cache:MaxFills=1", "--Cache:StaleIfError=1h", "--Cache:OriginHeaderTimeout=1h");
        _answers.Release("/a");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        await using RawClient other = await AskAsync(service, "b", waiting: 0);
        await using RawClient client = await AskAsync(service, "a", waiting: 1);

        service.Time.Advance(TimeSpan.FromSeconds(10));

        (RawResponse stale, string body) = await client.ReadAsync();
        Assert.Equal((200, "/a", 0L), (stale.Status, body, service.Host.Metrics.OriginFailures));
        Assert.EndsWith("; detail=too-many-fills", stale.CacheStatus, StringComparison.Ordinal);
        Assert.Empty(service.Log.Warnings);
        _answers.Release("/b");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Fill_WhoseRequestsHaveLeft_GivesUpItsPlace()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        RawClient second = await AskAsync(service, "b", waiting: 1);
        RawClient joined = await service.GetAsync("/object/b");
        await service.JoinedAsync(1);
        await using RawClient third = await AskAsync(service, "c", waiting: 2);

        second.Vanish();
        await Eventually.TrueAsync(() => service.Host.Cache.Waiting.Count == 3, "the leader has left");
        Assert.Equal(2, service.Host.Cache.Fills.Queue.Waiting);
        joined.Vanish();
        await Eventually.TrueAsync(() => service.Host.Cache.Fills.Queue.Waiting == 1, "the place is given up");

        _answers.Release("/a", "/c");
        Assert.Equal("/c", (await third.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal(("/a,/c", "abandoned=1,place=1"), (TargetsOf(origin), service.ReasonsOf("cache_fills_waited_total")));
    }

    [Fact]
    public async Task Fills_OfASlowOrigin_KeepNoPlacesFromAnother()
    {
        HeldAnswers slow = new();
        await using ScriptedOrigin one = new(slow.AnswerAsync);
        await using ScriptedOrigin two = new(_answers.AnswerAsync);
        await using TestService service = await StartWithTwoAsync(one, two, "--Cache:MaxFills=3");
        List<RawClient> clients = [];
        foreach (string key in (string[])["slow/1", "slow/2", "b/1"])
        {
            clients.Add(await AskAsync(service, key, waiting: 0));
        }

        // The slow origin has two of three places, and is first in the queue: the third place is the other's all the same.
        foreach (string key in (string[])["slow/3", "slow/4", "b/2", "b/3"])
        {
            clients.Add(await AskAsync(service, key, clients.Count - 2));
        }

        foreach (string key in (string[])["/b/1", "/b/2", "/b/3"])
        {
            await AskedAsync(two, key[^1] - '0');
            Assert.Equal(key, two.Exchanges[^1].Target);
            Assert.Equal(2, one.RequestCount);
            _answers.Release(key);
        }

        await AskedAsync(one, 3);
        slow.Release("/slow/1", "/slow/2", "/slow/3", "/slow/4");
        foreach (RawClient client in clients)
        {
            Assert.Equal(200, (await client.ReadAsync()).Head.Status);
            await client.DisposeAsync();
        }

        await service.IsAtRestAsync();
        Assert.Equal("/slow/1,/slow/2,/slow/3,/slow/4", TargetsOf(one));
    }

    [Fact]
    public async Task Fills_OfAnOriginAtItsOwnLimit_WaitForThat_AndOthersDoNot()
    {
        HeldAnswers slow = new();
        await using ScriptedOrigin one = new(slow.AnswerAsync);
        await using ScriptedOrigin two = new(_answers.AnswerAsync);
        await using TestService service = await StartWithTwoAsync(one, two, "--Cache:OriginMaxFills=1", "--Cache:OriginHeaderTimeout=1h");
        await using RawClient first = await AskAsync(service, "slow/1", waiting: 0);
        await using RawClient second = await AskAsync(service, "slow/2", waiting: 1);
        await using RawClient third = await AskAsync(service, "slow/3", waiting: 2);
        _answers.Release("/b");
        Assert.Equal("/b", (await service.FetchAsync("/object/b")).Body);

        slow.Release("/slow/1", "/slow/1");
        Assert.Equal("/slow/1", (await first.ReadAsync()).Body);
        await AskedAsync(one, 2);
        service.Time.Advance(TimeSpan.FromSeconds(10));

        RawResponse refused = (await third.ReadAsync()).Head;
        Assert.Equal((503, "CachingService; detail=too-many-fills-at-origin"), (refused.Status, refused.CacheStatus));
        slow.Release("/slow/2");
        Assert.Equal("/slow/2", (await second.ReadAsync()).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Queue_HoldsNoMoreThanMaxWaiters()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1", "--Cache:MaxWaiters=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);

        RawResponse refused = (await service.FetchAsync("/object/c")).Head;

        Assert.Equal((503, "CachingService; detail=too-many-waiters"), (refused.Status, refused.CacheStatus));
        _answers.Release("/a", "/b");
        Assert.Equal(("/a", "/b"), ((await first.ReadAsync()).Body, (await second.ReadAsync()).Body));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Cookie: a=b\r\n")]
    [InlineData("Authorization: Basic YTpi\r\n")]
    public async Task Request_ThatGoesAlone_DoesNotWait(string fields)
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        _answers.Release("/b");

        Assert.Equal("/b", (await service.FetchAsync("/object/b", fields)).Body);

        Assert.Equal((1L, 0), (service.Host.Metrics.Passes, service.Host.Cache.Fills.Queue.Waiting));
        _answers.Release("/a");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task ValidationInTheBackground_DoesNotWait()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(
            origin.Url, QueueTime, "--Cache:MaxFills=1", "--Cache:StaleWhileRevalidate=1h");
        _answers.Release("/a");
        await service.StoreAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(6));
        await using RawClient other = await AskAsync(service, "b", waiting: 0);

        Assert.Equal("CachingService; hit; ttl=-1", (await service.FetchAsync("/object/a")).Head.CacheStatus);

        Assert.Equal((1, 0), (service.Host.Cache.Fills.ActiveCount, service.Host.Cache.Fills.Queue.Waiting));
        _answers.Release("/b");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task PurgedWhileItWaits_IsForThoseWhoWait_AndNotStored()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, QueueTime, "--Cache:MaxFills=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);

        service.Host.Cache.Fills.Invalidate("b");
        await using RawClient later = await AskAsync(service, "b", waiting: 2);
        _answers.Release("/a", "/b");

        Assert.Equal("/b", (await second.ReadAsync()).Body);
        await AskedAsync(origin, 3);
        _answers.Release("/b");
        Assert.Equal("/b", (await later.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal(2, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task HoldTime_RunsWhileItWaits()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(
            origin.Url, QueueTime, "--Cache:MaxFills=1", "--Cache:Routes:0:Prefix=b", "--Cache:Routes:0:HoldTime=3s");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient held = await AskAsync(service, "b", waiting: 1);
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(3)), "it is held");

        service.Time.Advance(TimeSpan.FromSeconds(3));

        Assert.Equal("CachingService; detail=hold-time", (await held.ReadAsync()).Head.CacheStatus);
        await Eventually.TrueAsync(() => service.Host.Cache.Fills.Queue.Waiting == 0, "the place is given up");
        _answers.Release("/a");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Stop_EndsTheFillsThatWait()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, TimeSpan.FromMilliseconds(100), QueueTime, "--Cache:MaxFills=1");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);
        await using RawClient third = await AskAsync(service, "c", waiting: 2);

        await service.DisposeAsync().AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((0, 0, 0), (service.Host.Cache.Fills.ActiveCount, service.Host.Cache.Fills.Queue.Waiting, service.Host.Cache.Fills.Queue.Taken));
        Assert.Empty(service.Log.Errors);
        _answers.Release("/a", "/b", "/c");
    }

    [Fact]
    public async Task Reload_WithAHigherLimit_GivesPlaces()
    {
        await using ScriptedOrigin origin = new(_answers.AnswerAsync);
        Write(maxFills: 1);
        await using TestService service = await TestService.StartAsync(originUrl: "", $"--Settings={_settings}");
        await using RawClient first = await AskAsync(service, "a", waiting: 0);
        await using RawClient second = await AskAsync(service, "b", waiting: 1);
        await using RawClient third = await AskAsync(service, "c", waiting: 2);

        Write(maxFills: 2);
        service.Host.Reload();

        await AskedAsync(origin, 2);
        Assert.Equal((1, 2), (service.Host.Cache.Fills.Queue.Waiting, service.Host.Cache.Fills.Queue.Taken));
        Write(maxFills: 3);
        service.Host.Reload();
        await AskedAsync(origin, 3);
        _answers.Release("/a", "/b", "/c");
        Assert.Equal(("/a", "/b", "/c"), ((await first.ReadAsync()).Body, (await second.ReadAsync()).Body, (await third.ReadAsync()).Body));
        await service.IsAtRestAsync();

        void Write(int maxFills) => File.WriteAllText(
            _settings, $$"""{ "Cache": { "Origins": "{{origin.Url}}", "MaxFills": "{{maxFills}}", "FetchQueueTime": "10s" } }""");
    }

    private static Task<TestService> StartWithTwoAsync(ScriptedOrigin slow, ScriptedOrigin other, params string[] options) => TestService.StartAsync(
        other.Url, [QueueTime, "--Cache:Routes:0:Prefix=slow/", $"--Cache:Routes:0:Origins={slow.Url}", .. options]);

    /// <summary>Sends a request that needs a fill of its own, and waits until that has a place or waits for one.</summary>
    private static async Task<RawClient> AskAsync(TestService service, string key, int waiting)
    {
        int before = service.Host.Cache.Fills.ActiveCount;
        RawClient client = await service.GetAsync("/object/" + key);
        await Eventually.TrueAsync(() => service.Host.Cache.Fills.ActiveCount == before + 1, $"a fill for {key}");
        Assert.Equal(waiting, service.Host.Cache.Fills.Queue.Waiting);
        return client;
    }

    private static Task AskedAsync(ScriptedOrigin origin, int count) => Eventually.TrueAsync(() => origin.RequestCount == count, $"{count} requests");

    private static string TargetsOf(ScriptedOrigin origin) => string.Join(',', origin.Exchanges.Select(exchange => exchange.Target));

    /// <summary>An origin's answers, each of which is its target and comes once that is released, as often as it is. Any thread.</summary>
    private sealed class HeldAnswers
    {
        private readonly ConcurrentDictionary<string, SemaphoreSlim> _released = new();

        public async Task AnswerAsync(OriginExchange exchange)
        {
            await Of(exchange.Target).WaitAsync(Patience.Limit);
            await exchange.AnswerAsync(exchange.Target, "Cache-Control: max-age=5\r\n");
        }

        public void Release(params string[] targets) => Array.ForEach(targets, target => Of(target).Release());

        private SemaphoreSlim Of(string target) => _released.GetOrAdd(target, static _ => new(0));
    }
}
