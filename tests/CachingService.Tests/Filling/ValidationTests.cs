using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>A stale object is validated by a fill like any other (RFC 9111 4.3).</summary>
public sealed class ValidationTests
{
    private const string Changed = "Mon, 31 Dec 2029 00:00:00 GMT";
    private const string Short = "Cache-Control: max-age=5\r\n";
    private const string Tag = "ETag: \"a\"\r\n";

    [Theory]
    [InlineData("ETag: \"a\"\r\n", "\"a\"", null)]
    [InlineData("ETag: W/\"a\"\r\n", "W/\"a\"", null)]
    [InlineData("Last-Modified: " + Changed + "\r\n", null, Changed)]
    [InlineData("ETag: \"a\"\r\nLast-Modified: " + Changed + "\r\n", "\"a\"", Changed)]
    public async Task StaleObject_IsAskedAboutWithItsValidatorsAsTheyCame(string validators, string? tag, string? date)
    {
        await using ScriptedOrigin origin = new(Confirm("hello", Short + validators, Short));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "If-None-Match: \"other\"\r\nIf-Modified-Since: " + Changed + "\r\n");
        (RawResponse hit, string again) = await service.FetchAsync("/object/a");

        Assert.Equal((tag, date), (origin.Exchanges[1].Field("If-None-Match"), origin.Exchanges[1].Field("If-Modified-Since")));
        Assert.Equal((200, "hello", "0", "CachingService; fwd=stale; fwd-status=304"), (head.Status, body, head["Age"], head.CacheStatus));
        Assert.Equal(("hello", "CachingService; hit; ttl=5"), (again, hit.CacheStatus));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Cache-Control: no-cache", "no-cache")]
    [InlineData("Cache-Control: max-age=60, no-cache", "no-cache")]
    [InlineData("Cache-Control: max-age=0, must-revalidate", "must-revalidate")]
    [InlineData("Cache-Control: s-maxage=0", "must-revalidate")]
    [InlineData("Cache-Control: max-age=0", null)]
    [InlineData("Expires: 0", null)]
    [InlineData("X-None: 1", null)]
    [InlineData("CDN-Cache-Control: no-cache\r\nCache-Control: max-age=60", "no-cache")]
    public async Task ResponseThatIsNeverFresh_IsStoredToBeValidatedEachTime(string fields, string? detail)
    {
        await using ScriptedOrigin origin = new(Confirm("hello", $"{fields}\r\n{Tag}", ""));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse miss = (await service.FetchAsync("/object/a")).Head;
        await service.IsAtRestAsync();
        Assert.Equal(1, service.Host.Cache.Store.Count);
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored" + (detail is null ? "" : "; detail=" + detail), miss.CacheStatus);
        for (int count = 2; count <= 4; count++)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a");
            Assert.Equal(("hello", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
            Assert.Equal(count, origin.RequestCount);
            await service.IsAtRestAsync();
        }
    }

    [Theory]
    [InlineData(302, "ETag: \"a\"")]
    [InlineData(500, "Cache-Control: max-age=0\r\nETag: \"a\"")]
    [InlineData(200, "Cache-Control: no-cache")]
    [InlineData(200, "Cache-Control: no-cache\r\nETag: a")]
    [InlineData(200, "Cache-Control: no-cache\r\nLast-Modified: soon")]
    [InlineData(200, "Cache-Control: no-cache, no-store\r\nETag: \"a\"")]
    [InlineData(200, "Cache-Control: no-cache\r\nETag: \"a\"\r\nSet-Cookie: a=b")]
    [InlineData(200, "Cache-Control: max-age=0, private=\"etag\"\r\nETag: \"a\"")]
    public async Task ResponseThatIsNeverFreshAndCannotBeAskedAbout_IsNotStored(int status, string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n{fields}\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();

        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task NoCacheAtTheFirstFill_ReleasesThoseWhoWait()
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await joined.Task;
            await exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: no-cache\r\n" + Tag);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal("1", (await leader.ReadAsync()).Body);
        (RawResponse released, string body) = await waiter.ReadAsync();
        Assert.Equal(("2", "CachingService; fwd=bypass; fwd-status=200; detail=no-cache"), (body, released.CacheStatus));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Cache-Control: max-age=5")]
    [InlineData("Cache-Control: no-cache")]
    public async Task Validation_IsOneForAllWhoWait(string fields)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await exchange.AnswerAsync("hello", $"{fields}\r\n{Tag}");
                return;
            }

            await joined.Task;
            await exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{Tag}Age: 2\r\nX-New: 1\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await using RawClient has = await service.GetAsync("/object/a", "If-None-Match: \"a\"\r\n");
        await service.JoinedAsync(2);
        joined.SetResult();

        (RawResponse first, string firstBody) = await leader.ReadAsync();
        (RawResponse other, string otherBody) = await waiter.ReadAsync();
        RawResponse unchanged = await has.ReadHeadAsync();
        Assert.Equal(("hello", "hello", "2", "2", "1"), (firstBody, otherBody, first["Age"], other["Age"], other["X-New"]));
        Assert.Equal("CachingService; fwd=stale; fwd-status=304", first.CacheStatus);
        Assert.Equal("CachingService; fwd=stale; fwd-status=304; collapsed", other.CacheStatus);
        Assert.Equal((304, "\"a\""), (unchanged.Status, unchanged["ETag"]));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer200_StreamsAndTakesThePlaceWhenItIsWhole()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await exchange.AnswerAsync("old", Short + Tag);
                return;
            }

            await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"b\"\r\nContent-Length: 6\r\n\r\nnew");
            await rest.Task;
            await exchange.SendAsync("est");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient leader = await service.GetAsync("/object/a");
        RawResponse head = await leader.ReadHeadAsync();
        RawResponse late = (await service.FetchAsync("/object/a", "If-None-Match: \"b\"\r\n", "HEAD")).Head;

        Assert.Equal("CachingService; fwd=stale; fwd-status=200; stored", head.CacheStatus);
        Assert.Equal("CachingService; hit; detail=in-flight", late.CacheStatus);
        Assert.Equal("\"a\"", service.StoredHead("a")["ETag"]);
        rest.SetResult();
        Assert.Equal("newest", await leader.ReadBodyAsync(head));
        Assert.Equal("CachingService; hit; ttl=60", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer200ThatBreaks_LeavesTheStaleObject()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nnew");
                exchange.Reset();
                return;
            }

            await Confirm("old", Short + Tag, Short)(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient cut = await service.GetAsync("/object/a");
        await cut.ReadToCloseAsync();
        await service.IsAtRestAsync();

        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("old", "CachingService; fwd=stale; fwd-status=304"), (body, head.CacheStatus));
    }

    [Theory]
    [InlineData("ETag: \"b\"\r\n", "new")]
    [InlineData("ETag: W/\"b\"\r\n", "new")]
    [InlineData("Last-Modified: " + Changed + "\r\n", "new")]
    [InlineData("ETag: W/\"a\"\r\n", "old")]
    [InlineData("", "old")]
    public async Task Answer304_ThatDoesNotSpeakOfTheObject_IsAskedAgainWithoutConditions(string validators, string expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Number: 1 } => exchange.AnswerAsync("old", Short + Tag),
            _ when exchange.Field("If-None-Match") is not null => exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{validators}\r\n"),
            _ => exchange.AnswerAsync("new"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(expected, (await service.FetchAsync("/object/a")).Body);
        Assert.Equal(expected == "new" ? 3 : 2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Answer304_ToAnUnconditionalFill_Is502()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(502, (await service.FetchAsync("/object/a", "If-None-Match: \"a\"\r\n")).Head.Status);
    }

    [Theory]
    [InlineData("Cache-Control: no-store", "no-store")]
    [InlineData("Cache-Control: private", "private")]
    [InlineData("Set-Cookie: a=b", "set-cookie")]
    public async Task Answer304_AfterWhichNothingMayBeShared_IsForTheLeaderAndRemovesTheObject(string fields, string detail)
    {
        TaskCompletionSource joined = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await joined.Task;
                await exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{Tag}{fields}\r\n\r\n");
                return;
            }

            await exchange.AnswerAsync($"{exchange.Number}", Short + Tag);
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");
        await using RawClient waiter = await service.GetAsync("/object/a");
        await service.JoinedAsync(1);
        joined.SetResult();

        Assert.Equal("1", (await leader.ReadAsync()).Body);
        (RawResponse released, string body) = await waiter.ReadAsync();
        Assert.Equal(("3", $"CachingService; fwd=bypass; fwd-status=200; detail={detail}"), (body, released.CacheStatus));
        await service.IsAtRestAsync();
        Assert.Equal((0, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Ledger.StoredBytes));
    }

    [Fact]
    public async Task Answer200_ThatIsForOneClient_RemovesTheObject()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("x", exchange.Number == 1 ? Short + Tag : "Cache-Control: private\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal(
            "CachingService; fwd=stale; fwd-status=200; detail=private", (await service.FetchAsync("/object/a")).Head.CacheStatus);
        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task KeepStale_IsHowLongTheOriginCanConfirm()
    {
        await using ScriptedOrigin origin = new(Confirm("hello", Short + Tag, Short));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:KeepStale=10s");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(15) - TimeSpan.FromTicks(1));
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(15));
        await service.FetchAsync("/object/a");

        Assert.Equal([null, "\"a\"", null], origin.Exchanges.Select(exchange => exchange.Field("If-None-Match")));
    }

    [Theory]
    [InlineData("CDN-Cache-Control: max-age=20\r\n", 20)]
    [InlineData("Cache-Control: max-age=30\r\nAge: 10\r\n", 20)]
    [InlineData("Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nCache-Control: max-age=30\r\n", 25)]
    [InlineData("", 5)]
    public async Task Freshness_IsThatOfTheUpdatedHead(string fields, int seconds)
    {
        await using ScriptedOrigin origin = new(Confirm("x", Short + "Age: 1\r\n" + Tag, fields));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await service.FetchAsync("/object/a");

        Assert.Equal($"CachingService; hit; ttl={seconds}", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Theory]
    [InlineData("Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\n", "X-Hop")]
    [InlineData("Keep-Alive: timeout=5\r\n", "Keep-Alive")]
    [InlineData("Proxy-Authenticate: Basic\r\n", "Proxy-Authenticate")]
    [InlineData("Proxy-Authentication-Info: x=y\r\n", "Proxy-Authentication-Info")]
    [InlineData("Upgrade: h2c\r\n", "Upgrade")]
    [InlineData("Content-Length: 99\r\n", "X-Hop")]
    public async Task FieldsOfTheConnection_OnA304_AreNotStored(string fields, string name)
    {
        await using ScriptedOrigin origin = new(Confirm("hello", Short + Tag, fields + "X-New: 1\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await service.FetchAsync("/object/a");

        (RawResponse hit, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("hello", "5", "1", null), (body, hit["Content-Length"], hit["X-New"], hit[name]));
    }

    [Fact]
    public async Task FieldsForOneClient_OnA304_ReachTheLeaderAndNobodyElse()
    {
        await using ScriptedOrigin origin = new(Confirm("x", Short + Tag, "Cache-Control: max-age=5, private=\"X-User\"\r\nX-User: me\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        RawResponse leader = (await service.FetchAsync("/object/a")).Head;
        RawResponse hit = (await service.FetchAsync("/object/a")).Head;

        Assert.Equal(("me", null, "CachingService; hit; ttl=5"), (leader["X-User"], hit["X-User"], hit.CacheStatus));
    }

    [Fact]
    public async Task Invalidation_DuringAValidation_LeavesNothingStored()
    {
        TaskCompletionSource changed = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await changed.Task;
                await exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{Tag}\r\n");
                return;
            }

            await exchange.AnswerAsync($"{exchange.Number}", exchange.Method == "GET" ? Short + Tag : "");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));
        await using RawClient leader = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the validation");

        await service.FetchAsync("/object/a", method: "POST");
        changed.SetResult();

        Assert.Equal("1", (await leader.ReadAsync()).Body);
        await service.IsAtRestAsync();
        Assert.Equal((0, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Ledger.StoredBytes));
        Assert.Equal("4", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task ReaderOfTheStaleObject_FinishesAndNothingIsCountedTwice()
    {
        string large = new('x', 32_000_000);
        await using ScriptedOrigin origin = new(Confirm(large, Short + Tag, "X-New: 1\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", method: "GET");
        long stored = service.Host.Cache.Ledger.StoredBytes;
        await using RawClient slow = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
        await slow.SendAsync("/object/a");
        RawResponse old = await slow.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(5));

        (RawResponse confirmed, _) = await service.FetchAsync("/object/a", "Range: bytes=0-4\r\n");

        Assert.Equal((206, "1", null), (confirmed.Status, confirmed["X-New"], old["X-New"]));
        Assert.Equal((stored + (2 * "X-New1".Length) + 104, 0L), (service.Host.Cache.Ledger.StoredBytes, service.Host.Cache.Ledger.PinnedBytes));
        Assert.Equal(large, await slow.ReadBodyAsync(old));
        await service.IsAtRestAsync();
    }

    /// <summary>The first request gets the object, the others a 304 with these fields if they ask for one.</summary>
    private static Func<OriginExchange, Task> Confirm(string body, string fields, string updates) => exchange =>
        exchange.Field("If-None-Match") is null && exchange.Field("If-Modified-Since") is null
            ? exchange.AnswerAsync(body, fields)
            : exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{updates}\r\n");
}
