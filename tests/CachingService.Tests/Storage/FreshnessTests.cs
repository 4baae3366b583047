using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>How long a response is used, and by whom while it arrives.</summary>
public sealed class FreshnessTests
{
    [Theory]
    [InlineData("Cache-Control: max-age=10", "0s", 10)]
    [InlineData("Cache-Control: max-age=10, s-maxage=20", "0s", 20)]
    [InlineData("Cache-Control: max-age=\"10\"", "0s", 10)]
    [InlineData("Cache-Control: MAX-AGE=30\r\nCache-Control: max-age=10", "0s", 10)]
    [InlineData("Cache-Control: public", "15s", 15)]
    [InlineData("X-None: 1", "15s", 15)]
    [InlineData("Cache-Control: max-age=10", "99s", 10)]
    [InlineData("Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nExpires: Tue, 01 Jan 2030 00:00:12 GMT", "99s", 12)]
    [InlineData("Cache-Control: max-age=30\r\nAge: 20", "0s", 10)]
    [InlineData("Cache-Control: max-age=30\r\nAge: 20, 0", "0s", 10)]
    [InlineData("CDN-Cache-Control: max-age=10\r\nCache-Control: no-store", "0s", 10)]
    [InlineData("Date: soon\r\nExpires: Tue, 01 Jan 2030 00:00:12 GMT", "0s", 12)]
    [InlineData("Expires: Tuesday, 01-Jan-30 00:00:12 GMT", "0s", 12)]
    public async Task Object_UntilItsLifetimeEnds_IsAHit(string fields, string defaultTtl, int seconds)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:DefaultTtl={defaultTtl}");
        RawResponse first = (await service.FetchAsync("/object/a")).Head;

        service.Time.Advance(TimeSpan.FromSeconds(seconds) - TimeSpan.FromTicks(1));
        (RawResponse hit, string old) = await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromTicks(1));
        (_, string fresh) = await service.FetchAsync("/object/a");

        Assert.Equal(("1", "2"), (old, fresh));
        Assert.Equal("CachingService; hit; ttl=0", hit.CacheStatus);
        int originAge = first["Age"] is { } age ? int.Parse(age.Split(',')[0], System.Globalization.CultureInfo.InvariantCulture) : 0;
        Assert.Equal($"{originAge + seconds - 1}", hit["Age"]);
    }

    [Theory]
    [InlineData("X-None: 1", "0s")]
    [InlineData("Cache-Control: max-age=0", "99s")]
    [InlineData("Cache-Control: max-age=x", "99s")]
    [InlineData("Cache-Control: max-age=-5", "99s")]
    [InlineData("Expires: 0", "99s")]
    [InlineData("Cache-Control: max-age=10\r\nAge: 10", "99s")]
    [InlineData("Cache-Control: max-age=10\r\nDate: Mon, 31 Dec 2029 23:59:50 GMT", "99s")]
    [InlineData("Expires: Tue, 01 Jan 2030 00:00:12 UTC", "99s")]
    [InlineData("CDN-Cache-Control: max-age=0\r\nCache-Control: max-age=60", "99s")]
    [InlineData("Cache-Control: max-age=10\r\nAge: 99999999999999999999", "99s")]
    public async Task Object_WithoutLifetime_IsNotUsedAgain(string fields, string defaultTtl)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:DefaultTtl={defaultTtl}");

        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task Object_GrowsOlderFromTheRequestOn()
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await headers.Task;
            await exchange.AnswerAsync("x", "Cache-Control: max-age=30\r\nAge: 7\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        headers.SetResult();

        Assert.Equal("7", (await leader.ReadAsync()).Head["Age"]);
        service.Time.Advance(TimeSpan.FromSeconds(10));
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;
        Assert.Equal(("22", "CachingService; hit; ttl=8"), (hit["Age"], hit.CacheStatus));
        service.Time.Advance(TimeSpan.FromSeconds(8));
        await service.FetchAsync("/object/a");
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Object_WhoseDateIsPast_IsAsOldAsTheClocksSay()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\nAge: 3\r\nDate: Mon, 31 Dec 2029 23:59:40 GMT\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        RawResponse hit = (await service.FetchAsync("/object/a")).Head;

        Assert.Equal(("20", "CachingService; hit; ttl=40"), (hit["Age"], hit.CacheStatus));
    }

    [Theory]
    [InlineData("Cache-Control: max-age=60\r\nDate: Mon, 31 Dec 2029 23:55:00 GMT", "; detail=stale-by-date")]
    [InlineData("Cache-Control: max-age=60\r\nDate: Mon, 31 Dec 2029 23:55:00 GMT\r\nETag: \"a\"", "; stored; detail=stale-by-date")]
    [InlineData("Cache-Control: max-age=60\r\nAge: 60", "; detail=stale-by-age")]
    [InlineData("Cache-Control: max-age=60\r\nDate: Mon, 31 Dec 2029 23:55:00 GMT\r\nAge: 300", "; detail=stale-by-age")]
    [InlineData("Cache-Control: max-age=300\r\nDate: Mon, 31 Dec 2029 23:59:00 GMT", "; stored")]
    [InlineData("Cache-Control: max-age=0", "")]
    [InlineData("X-None: 1", "")]
    public async Task Response_StaleWhenItComes_SaysByWhat(string fields, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", fields + "\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200" + expected, (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Fact]
    public async Task Date_FarBehindOurClock_IsToldToTheOperatorOnceAMinute()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\nDate: Mon, 31 Dec 2029 23:55:00 GMT\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/b");
        Assert.Contains($"Origin {origin.Url} sends a Date that is 300 s behind", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        service.Time.Advance(TimeSpan.FromMinutes(1));
        await service.FetchAsync("/object/a");

        Assert.Contains("360 s behind", service.Log.Warnings[^1], StringComparison.Ordinal);
        Assert.Equal(2, service.Log.Warnings.Count);
        await using RawClient admin = await RawClient.ConnectAsync(service.Host.AdminUrl!);
        await admin.SendRawAsync("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Assert.Contains(
            $"cache_origin_replica_clock_offset_seconds{{origin=\"{origin.Url}\"}} 360\n", (await admin.ReadAsync()).Body, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Cache-Control: max-age=0")]
    [InlineData("Cache-Control: max-age=0, public")]
    [InlineData("Expires: 0")]
    [InlineData("Cache-Control: max-age=60\r\nAge: 60")]
    public async Task Response_StaleWhenItComes_IsForThoseWhoWaitAndNobodyAfterwards(string fields)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync($"{exchange.Number}", fields + "\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal(("1", "1"), ((await leader.ReadAsync()).Body, (await waiter.ReadAsync()).Body));
        await service.IsAtRestAsync();
        Assert.Equal(("2", 0), ((await service.FetchAsync("/object/a")).Body, service.Host.Cache.Store.Count));
    }

    [Theory]
    [InlineData(200, "X-None: 1", 0, true)]
    [InlineData(404, "X-None: 1", 0, true)]
    [InlineData(302, "X-None: 1", 0, false)]
    [InlineData(302, "Cache-Control: public", 0, true)]
    [InlineData(503, "X-None: 1", 0, true)]
    [InlineData(503, "X-None: 1", 1, false)]
    [InlineData(200, "Cache-Control: max-age=0", 0, false)]
    [InlineData(200, "Cache-Control: max-age=5", 4, true)]
    [InlineData(200, "Cache-Control: max-age=5", 5, false)]
    public async Task FillInFlight_IsJoinedOnlyWhileItsResponseIsFresh(int status, string fields, int seconds, bool isJoined)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 6\r\n{fields}\r\n\r\nabc");
            await rest.Task;
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        RawResponse leaderHead = await leader.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(seconds));

        await using RawClient late = await service.GetAsync("/object/a");
        RawResponse lateHead = await late.ReadHeadAsync();
        rest.SetResult();

        Assert.Equal("abcdef", await leader.ReadBodyAsync(leaderHead));
        Assert.Equal("abcdef", await late.ReadBodyAsync(lateHead));
        Assert.Equal(isJoined ? 1 : 2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public void Object_ThatIsFreshForThousandsOfYears_IsKept()
    {
        // The clock of the machine counts nanoseconds, of which there is room for 292 years.
        SharingVerdict verdict = Heads.Judge("Expires: Fri, 31 Dec 9999 23:59:59 GMT");
        CachedObject made = new("key", Heads.Create(""), verdict, new(), TimeProvider.System);

        Assert.True(made.IsFresh);
        Assert.True(made.IsKept);
    }
}
