using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Filling;

/// <summary>Hit-for-miss: what a key is remembered for, how long, and what makes it forgotten.</summary>
public sealed class MarkerTests
{
    private const string Storable = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 1\r\n\r\n";
    private const string Private = "HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 1\r\n\r\n";

    [Theory]
    [InlineData("Cache-Control: private")]
    [InlineData("Cache-Control: no-store")]
    [InlineData("Cache-Control: no-cache")]
    [InlineData("Cache-Control: max-age=60\r\nSet-Cookie: a=b")]
    [InlineData("Cache-Control: max-age=60\r\nVary: *")]
    public async Task Uncacheable_Key_IsNotWaitedForAgain(string fields)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await rest.Task;
            }

            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{fields}\r\nContent-Length: 1\r\n\r\n{exchange.Number}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        Assert.Equal("1", (await service.FetchAsync("/object/a")).Body);

        // The second is still without headers; the third does not stand in a row behind it.
        await using RawClient second = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the second at the origin");
        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("3", "CachingService; fwd=bypass; fwd-status=200; detail=hit-for-miss"), (body, head.CacheStatus));
        rest.SetResult();
        Assert.Equal("2", (await second.ReadAsync()).Body);
        Assert.Equal((1L, 0L, 2L), (service.Host.Metrics.Misses, service.Host.Metrics.Joins, service.Host.Cache.Markers.Found));
        Assert.Equal(1, service.Host.Cache.Markers.Count);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("HTTP/1.1 404 X\r\nContent-Length: 1\r\n\r\n1")]
    [InlineData("HTTP/1.1 503 X\r\nContent-Length: 1\r\n\r\n1")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")]
    [InlineData("HTTX")]
    public async Task Answer_ThatIsForAll_OrNone_SetsNoMarker(string answer)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(answer);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();

        Assert.Equal(0, service.Host.Cache.Markers.Count);
    }

    [Fact]
    public async Task Error_ThatIsForOneClient_SetsOne()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.SendAsync("HTTP/1.1 404 X\r\nCache-Control: private\r\nContent-Length: 1\r\n\r\n1"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a");

        Assert.Equal(1, service.Host.Cache.Markers.Count);
    }

    [Fact]
    public async Task Marker_IsForgottenWhenItsTimeIsOver()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Private + exchange.Number));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:HitForMissTtl=30s");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(29));
        Assert.Contains("hit-for-miss", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);

        service.Time.Advance(TimeSpan.FromSeconds(1));

        Assert.Contains("fwd=uri-miss", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Marker_SwitchedOff_IsNotSet()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Private + exchange.Number));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:HitForMissTtl=0");
        await service.FetchAsync("/object/a");

        Assert.Contains("fwd=uri-miss", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Answer_ThatCanBeStored_EndsTheMarker()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync((exchange.Number == 1 ? Private : Storable) + exchange.Number));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        Assert.Contains("hit-for-miss", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
        Assert.Contains("stored", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Contains("; hit;", head.CacheStatus, StringComparison.Ordinal);
        Assert.Equal("3", body);
    }

    [Theory]
    [InlineData("Cookie: a=b\r\n", "GET")]
    [InlineData("Authorization: x\r\n", "GET")]
    [InlineData("", "HEAD")]
    public async Task Answer_ToWhatIsNoPlainGet_DoesNotEndTheMarker(string fields, string method)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            exchange.Number == 1 ? Private + 1 : exchange.Method == "HEAD" ? Storable : Storable + 2));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        await service.FetchAsync("/object/a", fields, method);

        Assert.Equal(1, service.Host.Cache.Markers.Count);
    }

    [Fact]
    public async Task Invalidation_EndsTheMarker()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Private + exchange.Number));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        await service.FetchAsync("/object/a", method: "DELETE");

        Assert.Equal(0, service.Host.Cache.Markers.Count);
        Assert.Contains("fwd=uri-miss", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Content-Length: 6\r\n\r\nabc", "def")]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n", "0\r\n\r\n")]
    public async Task TooLarge_Key_GoesToTheOriginWithItsRange(string start, string rest)
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Field("Range") is not null)
            {
                await exchange.SendAsync("HTTP/1.1 206 OK\r\nContent-Range: bytes 1-2/6\r\nContent-Length: 2\r\n\r\nbc");
                return;
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + start);
            await go.Task;
            await exchange.SendAsync(rest);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjectBytes=5");
        await using RawClient first = await service.GetAsync("/object/a");
        RawResponse firstHead = await first.ReadHeadAsync();
        await Eventually.TrueAsync(() => service.Host.Cache.Markers.Count == 1, "the key is known to be too large");

        (RawResponse part, string bytes) = await service.FetchAsync("/object/a", "Range: bytes=1-2\r\n");
        await using RawClient second = await service.GetAsync("/object/a");
        RawResponse secondHead = await second.ReadHeadAsync();
        go.SetResult();

        Assert.Equal((206, "bc"), (part.Status, bytes));
        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=too-large", secondHead.CacheStatus);
        Assert.Equal(("abcdef", "abcdef"), (await first.ReadBodyAsync(firstHead), await second.ReadBodyAsync(secondHead)));

        // Neither a part nor another large answer shows that the next one can be kept.
        Assert.Equal(1, service.Host.Cache.Markers.Count);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task TooLarge_KeyWhoseAnswerHasBecomeSmall_IsStoredAgain()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Number == 1 ? "abcdef" : "abc"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxObjectBytes=5");
        await service.FetchAsync("/object/a");

        Assert.Contains("too-large", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
        await service.FetchAsync("/object/a");

        Assert.Contains("; hit;", (await service.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Fact]
    public async Task NoRoomInFlight_SetsNoMarker()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(new string('x', 100_000)));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxInFlightBytes=50000");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();

        Assert.Equal((0, 0), (service.Host.Cache.Markers.Count, service.Host.Cache.Store.Count));
    }

    [Fact]
    public void Markers_WhoseLimitChanges_AreTheLatestOfSoMany()
    {
        LiveOptions options = new(Heads.OptionsOf("Cache:MaxMarkers=3"));
        KeyMarkers markers = new(options, new FakeTime());
        Mark("a", "b", "c");
        Assert.Equal(3, markers.Count);

        options.Replace(Heads.OptionsOf("Cache:MaxMarkers=2"));
        Mark("d");
        Assert.Equal((2, true), (markers.Count, markers.Look("c") is not null));

        options.Replace(Heads.OptionsOf("Cache:MaxMarkers=4"));
        Mark("e", "f", "g");
        Assert.Equal((4, true), (markers.Count, markers.Look("d") is not null));

        void Mark(params string[] keys) => Array.ForEach(keys, key => markers.Set(key, KeyMarkers.HitForMiss));
    }

    /// <summary>Against a plain list: the latest marks of at most so many keys, within their time.</summary>
    [Fact]
    public void Markers_UnderAnySchedule_AreBoundedAndTheLatest()
    {
        const int Limit = 4;
        Gen<(int Action, int Key)> step = Gen.Choose(0, 9).Zip(Gen.Choose(0, 6));
        Seeded.Check(Arb.From(Gen.ListOf(step)), steps =>
        {
            FakeTime time = new();
            KeyMarkers markers = new(new(Heads.OptionsOf("Cache:HitForMissTtl=5s", $"Cache:MaxMarkers={Limit}")), time);
            List<(string Key, TimeSpan Since)> marked = [];
            foreach ((int action, int number) in steps)
            {
                string key = $"key {number}";
                switch (action)
                {
                    case 0:
                        time.Advance(TimeSpan.FromSeconds(1));
                        break;
                    case 1:
                        markers.Drop(key);
                        marked = [.. marked.Select(entry => entry.Key == key ? ("", entry.Since) : entry)];
                        break;
                    case < 6:
                        markers.Set(key, KeyMarkers.HitForMiss);
                        marked = [.. marked.Select(entry => entry.Key == key ? ("", entry.Since) : entry), (key, time.Elapsed)];
                        break;
                    default:
                        bool isExpected = marked.TakeLast(Limit).Any(entry =>
                            entry.Key == key && time.Elapsed - entry.Since < TimeSpan.FromSeconds(5));
                        Assert.Equal(isExpected, markers.Find(key) is not null);
                        break;
                }

                Assert.InRange(markers.Count, 0, Limit);
            }
        });
    }
}
