using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Filling;

/// <summary>What clients get after a purge of a key, of a tag, of a prefix and of everything, hard and soft, and what becomes of fills in flight.</summary>
public sealed class PurgeTests
{
    private const string Tagged = "Cache-Control: max-age=60\r\nSurrogate-Key: one two\r\n";

    public static TheoryData<string> Ways => new("key", "tag", "group", "prefix", "all");

    [Theory]
    [MemberData(nameof(Ways))]
    public async Task HardPurge_HasTheNextRequestAskTheOriginForAllOfIt(string way)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Target} {exchange.Number} {exchange.Field("If-None-Match")}",
            (exchange.Target == "/b" ? "Cache-Control: max-age=60\r\n" : "Cache-Groups: \"a \\\"group\\\"\", \"x\";y=1\r\n" + Tagged)
                + $"ETag: \"{exchange.Number}\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/d/a");
        await service.FetchAsync("/object/b");

        PurgeBy(service, way, isSoft: false);

        (RawResponse again, string body) = await service.FetchAsync("/object/d/a");
        Assert.Equal(("/d/a 3 ", "CachingService; fwd=uri-miss; fwd-status=200; stored"), (body, again.CacheStatus));
        Assert.Equal(way == "all" ? "/b 4 " : "/b 2 ", (await service.FetchAsync("/object/b")).Body);
        Assert.Equal(("/d/a 3 ", "CachingService; hit; ttl=60"), await FetchAsync(service));
        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(2, service.Host.Cache.Store.Count);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public async Task SoftPurge_HasTheNextRequestConfirmIt(string way)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") == "\"v\""
            ? exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n")
            : exchange.AnswerAsync("body", Tagged + "ETag: \"v\"\r\nCache-Groups: \"a \\\"group\\\"\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/d/a");
        service.Time.Advance(TimeSpan.FromSeconds(10));

        PurgeBy(service, way, isSoft: true);

        Assert.Equal(("body", "CachingService; fwd=stale; fwd-status=304"), await FetchAsync(service));
        Assert.Equal(("body", "CachingService; hit; ttl=60"), await FetchAsync(service));
        Assert.Equal(2, origin.RequestCount);

        // The confirmed object has the tags of the first answer, which the 304 has not repeated.
        PurgeBy(service, way, isSoft: false);
        await service.FetchAsync("/object/d/a");
        Assert.Equal(3, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public async Task SoftPurge_CountsTheTimesOfStaleServiceFromThere(string way)
    {
        bool fails = false;
        await using ScriptedOrigin origin = new(exchange => fails
            ? exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nno")
            : exchange.AnswerAsync(
                "body", "Cache-Control: max-age=600, stale-if-error=20\r\nSurrogate-Key: two\r\nCache-Groups: \"a \\\"group\\\"\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/d/a");
        fails = true;
        service.Time.Advance(TimeSpan.FromSeconds(30));
        PurgeBy(service, way, isSoft: true);

        service.Time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(("body", "CachingService; fwd=stale; ttl=-5; detail=origin-503"), await FetchAsync(service));
        service.Time.Advance(TimeSpan.FromSeconds(15));
        Assert.Equal("no", (await FetchAsync(service)).Body);
    }

    [Fact]
    public async Task SoftPurge_OfWhatIsStaleAlready_ProlongsNothing()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number > 1
            ? exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nno")
            : exchange.AnswerAsync("body", "Cache-Control: max-age=10, stale-if-error=20\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/d/a");
        service.Time.Advance(TimeSpan.FromSeconds(25));
        PurgeBy(service, "key", isSoft: true);
        PurgeBy(service, "all", isSoft: true);

        Assert.Equal(("body", "CachingService; fwd=stale; ttl=-15; detail=origin-503"), await FetchAsync(service));
        service.Time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal("no", (await FetchAsync(service)).Body);
    }

    [Fact]
    public async Task SoftPurge_ServesStaleAtOnceWhileTheOriginIsAsked()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}", "Cache-Control: max-age=600, stale-while-revalidate=20\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/d/a");
        service.Time.Advance(TimeSpan.FromSeconds(3));
        PurgeBy(service, "all", isSoft: true);

        Assert.Equal(("1", "CachingService; hit; ttl=-1"), await FetchAsync(service));
        await service.IsAtRestAsync();
        Assert.Equal(("2", "CachingService; hit; ttl=600"), await FetchAsync(service));
    }

    [Theory]
    [InlineData("key", false)]
    [InlineData("key", true)]
    [InlineData("tag", false)]
    [InlineData("tag", true)]
    [InlineData("prefix", false)]
    [InlineData("prefix", true)]
    [InlineData("all", false)]
    [InlineData("all", true)]
    public async Task Purge_DuringAFill_LetsItsReadersEndAndStoresNothing(string way, bool isSoft)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{Tagged}\r\n{exchange.Number}");
            await (exchange.Number == 1 ? rest.Task : Task.CompletedTask);
            await exchange.SendAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/d/a");
        RawResponse head = await first.ReadHeadAsync();

        PurgeBy(service, way, isSoft);
        Assert.Equal("2x", (await FetchAsync(service)).Body);
        rest.SetResult();

        Assert.Equal("1x", await first.ReadBodyAsync(head));
        await service.IsAtRestAsync();
        Assert.Equal("2x", (await FetchAsync(service)).Body);
        Assert.Equal(2, origin.RequestCount);
    }

    [Theory]
    [InlineData("tag")]
    [InlineData("prefix")]
    [InlineData("all")]
    [InlineData("key")]
    public async Task Purge_BeforeTheHeaders_ConcernsWhatTheyBring(string way)
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 1 ? headers.Task : Task.CompletedTask);
            await exchange.AnswerAsync($"{exchange.Number}", Tagged);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/d/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");

        PurgeBy(service, way, isSoft: false);
        GC.Collect();
        headers.SetResult();

        Assert.Equal("1", (await first.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal("2", (await FetchAsync(service)).Body);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Purge_OfATagThatNobodyKnowsYet_HasThoseWhoComeAfterItLookAgain(bool isSoft)
    {
        TaskCompletionSource headers = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 1 ? headers.Task : Task.CompletedTask);
            await exchange.AnswerAsync($"{exchange.Number}", Tagged);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient first = await service.GetAsync("/object/d/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        await using RawClient before = await service.GetAsync("/object/d/a");
        await service.JoinedAsync(1);

        PurgeBy(service, "tag", isSoft);
        await using RawClient after = await service.GetAsync("/object/d/a");
        await service.JoinedAsync(2);
        headers.SetResult();

        Assert.Equal(("1", "1", "2"), ((await first.ReadAsync()).Body, (await before.ReadAsync()).Body, (await after.ReadAsync()).Body));
        Assert.Equal(1, service.Host.Metrics.BrokenOutJoins);
        await service.IsAtRestAsync();
    }

    [Fact]
    public void Leader_OfAFillThatAPurgeHasOvertaken_JoinsItAndNobodyElseDoes()
    {
        FakeTime time = new();
        PurgeEpochs purges = new(time);
        using CacheMetrics metrics = new();
        FillServices services = new(null!, null!, purges, null!, new(), metrics, new(Heads.OptionsOf()), time, null!);
        CacheRoute route = new(origin: null, services.Live, static options => options.Routes, references: null);
        OriginRequest request = new(HttpMethod.Get, new(route, "a", "a"), []);
        FillPlace place = new FillQueue(services.Live, services.Ledger, time).Enter(origin: null, mayWait: false, out _)!;
        Predecessor none = new(null, isVaryMiss: false, mayBePromoted: false, request, services);
        Fill fill = new(request, none, place, services, static (_, _) => { }, static _ => { });
        purges.PurgeAll(isSoft: false);

        Assert.Equal(JoinOutcome.Joined, fill.TryJoin(isLeader: true, new HeaderDictionary(), static () => { }, out FillMember? leader));
        Assert.NotNull(leader);
        Assert.Equal(JoinOutcome.Closed, fill.TryJoin(isLeader: false, new HeaderDictionary(), static () => { }, out _));
    }

    [Fact]
    public async Task Purge_WithNobodyReading_EndsTheFill()
    {
        TaskCompletionSource never = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{Tagged}\r\nx");
            await never.Task;
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        RawClient first = await service.GetAsync("/object/d/a");
        await first.ReadHeadAsync();
        await first.DisposeAsync();
        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "the reader has gone");
        Assert.Equal(1, service.Host.Cache.Fills.ActiveCount);

        PurgeBy(service, "all", isSoft: true);

        await service.IsAtRestAsync();
        never.SetResult();
    }

    [Theory]
    [InlineData("key")]
    [InlineData("tag")]
    [InlineData("prefix")]
    [InlineData("all")]
    public async Task SoftPurge_DuringAValidation_LeavesTheObjectStale(string way)
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (exchange.Number == 2 ? go.Task : Task.CompletedTask);
            await (exchange.Field("If-None-Match") is null
                ? exchange.AnswerAsync("body", Tagged + "ETag: \"v\"\r\n")
                : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n"));
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/d/a");
        service.Time.Advance(TimeSpan.FromSeconds(60));
        await using RawClient validating = await service.GetAsync("/object/d/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");

        PurgeBy(service, way, isSoft: true);
        go.SetResult();

        Assert.Equal("body", (await validating.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal("CachingService; fwd=stale; fwd-status=304", (await FetchAsync(service)).CacheStatus);
        Assert.Equal("CachingService; hit; ttl=60", (await FetchAsync(service)).CacheStatus);
    }

    [Fact]
    public async Task PurgeOfAll_ForgetsMarkers()
    {
        bool isPrivate = true;
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}", isPrivate ? "Cache-Control: private\r\n" : "Cache-Control: max-age=60\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/d/a");
        Assert.Equal(1, service.Host.Cache.Markers.Count);
        isPrivate = false;

        PurgeBy(service, "all", isSoft: true);

        Assert.Equal(0, service.Host.Cache.Markers.Count);
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", (await FetchAsync(service)).CacheStatus);
    }

    [Theory]
    [InlineData("", 0, false)]
    [InlineData("Cache-Groups: \"two\"\r\n", 0, true)]
    [InlineData("Cache-Groups: two\r\n", 0, false)]
    [InlineData("Cache-Groups: \"two\r\n", 0, false)]
    [InlineData("Cache-Groups: \"one\"\r\nCache-Groups: \"two\";x=?1\r\n", 0, true)]
    [InlineData("Surrogate-Key: one two\r\n", 0, true)]
    [InlineData("Surrogate-Key: one\r\nSurrogate-Key:  two  three\r\n", 0, true)]
    [InlineData("Surrogate-Key: one,two\r\n", 0, false)]
    [InlineData("Surrogate-Key: TWO\r\n", 0, false)]
    [InlineData("Surrogate-Key: two\r\n", 255, true)]
    public async Task Tag_IsReadFromBothFields(string fields, int others, bool isPurged)
    {
        string more = others == 0 ? "" : $"Surrogate-Key: {string.Join(' ', Enumerable.Range(0, others))}\r\n";
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60\r\n" + fields + more));
        await using TestService service = await TestService.StartAsync(origin.Url);
        RawResponse first = (await service.FetchAsync("/object/d/a")).Head;
        Assert.Null(first["Surrogate-Key"]);
        Assert.Equal(fields.StartsWith("Cache-Groups", StringComparison.Ordinal), first["Cache-Groups"] is not null);

        PurgeBy(service, "tag", isSoft: false);

        (RawResponse again, string body) = await service.FetchAsync("/object/d/a");
        Assert.Equal(isPurged ? "2" : "1", body);
        Assert.Null(again["Surrogate-Key"]);
    }

    [Fact]
    public async Task Response_WithTooManyTags_IsNotStored()
    {
        string tags = string.Join(' ', Enumerable.Range(0, 257));
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", $"Cache-Control: max-age=60\r\nSurrogate-Key: {tags}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse first = (await service.FetchAsync("/object/d/a")).Head;

        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; detail=too-many-tags", first.CacheStatus);
        Assert.Null(first["Surrogate-Key"]);
        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Theory]
    [InlineData("POST", 200, "\"two\"", true)]
    [InlineData("POST", 200, "\"zero\", \"two\";x", true)]
    [InlineData("POST", 200, "two", false)]
    [InlineData("POST", 200, "\"other\"", false)]
    [InlineData("POST", 500, "\"two\"", false)]
    [InlineData("OPTIONS", 200, "\"two\"", false)]
    public async Task Answer_ToAMethodThatIsNotSafe_PurgesTheGroupsThatItNames(string method, int status, string groups, bool isPurged)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "GET"
            ? exchange.AnswerAsync($"{exchange.Number}", Tagged)
            : exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nCache-Group-Invalidation: {groups}\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/d/a");

        await service.FetchAsync("/object/b", method: method, fields: "Content-Length: 0\r\n");

        Assert.Equal(isPurged ? "3" : "1", (await FetchAsync(service)).Body);
    }

    private static void PurgeBy(TestService service, string way, bool isSoft)
    {
        switch (way)
        {
            case "key":
                service.Host.Cache.Purger.Purge(Purge.OfKey("d/a", isSoft));
                break;
            case "prefix":
                service.Host.Cache.Purger.Purge(Purge.OfPrefix("d/", isSoft));
                break;
            case "all":
                service.Host.Cache.Purger.Purge(Purge.OfAll(isSoft));
                break;
            default:
                service.Host.Cache.Purger.Purge(Purge.OfTag(way == "tag" ? "two" : "a \"group\"", isSoft));
                break;
        }
    }

    private static async Task<(string Body, string CacheStatus)> FetchAsync(TestService service)
    {
        (RawResponse head, string body) = await service.FetchAsync("/object/d/a");
        return (body, head.CacheStatus);
    }
}
