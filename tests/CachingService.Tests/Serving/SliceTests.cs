using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Bodies that are fetched and stored by parts: <c>Cache:SliceBytes</c>.</summary>
public sealed class SliceTests
{
    private const int Slice = 64 * 1024;
    private const string On = "--Cache:SliceBytes=64KiB";
    private const string Fields = VersionedFile.Fields;

    /// <summary>Five slices, the last of which is short.</summary>
    private static readonly string s_body = VersionedFile.FirstBody;

    private readonly VersionedFile _file = new();

    [Fact]
    public async Task Body_IsFetchedBySlices_AndStored()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse first, string body) = await service.FetchAsync("/object/a");
        (RawResponse second, string stored) = await service.FetchAsync("/object/a");

        Assert.True(body == s_body && stored == s_body);
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", first.CacheStatus);
        Assert.Equal("CachingService; hit; ttl=60", second.CacheStatus);
        Assert.All([first, second], head => Assert.Equal(
            (200, s_body.Length.ToString(CultureInfo.InvariantCulture), null, "\"a\"", "bytes"),
            (head.Status, head["Content-Length"], head["Content-Range"], head["ETag"], head["Accept-Ranges"])));
        Assert.DoesNotContain("slices", first.Head, StringComparison.Ordinal);
        Assert.Equal(
            ["bytes=0-65535", "bytes=65536-131071", "bytes=131072-196607", "bytes=196608-262143", "bytes=262144-299999"],
            origin.Exchanges.Select(static exchange => exchange.Field("Range")));
        Assert.Equal([null, "\"a\"", "\"a\"", "\"a\"", "\"a\""], origin.Exchanges.Select(static exchange => exchange.Field("If-Range")));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("bytes=0-9", 0, 10, 1)]
    [InlineData("bytes=65530-65541", 65530, 12, 2)]
    [InlineData("bytes=200000-200009", 200000, 10, 2)]
    [InlineData("bytes=299990-", 299990, 10, 2)]
    [InlineData("bytes=-5", 299995, 5, 2)]
    [InlineData("bytes=70000-299999", 70000, 230000, 5)]
    public async Task Range_FetchesOnlyTheSlicesThatItNeeds_AndTheFirst(string range, int start, int length, int requests)
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        for (int time = 0; time < 2; time++)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", $"Range: {range}\r\n");

            Assert.Equal((206, $"bytes {start}-{start + length - 1}/300000"), (head.Status, head["Content-Range"]));
            Assert.True(body == s_body.Substring(start, length));
            Assert.Equal(requests, origin.RequestCount);
        }

        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Ranges_AreOneAnswerOfParts()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Range: bytes=262140-262150, 10-19\r\n");

        Assert.StartsWith("multipart/byteranges", head["Content-Type"], StringComparison.Ordinal);
        Assert.Contains($"Content-Range: bytes 10-19/300000\r\n\r\n{s_body[10..20]}\r\n", body, StringComparison.Ordinal);
        Assert.Contains($"Content-Range: bytes 262140-262150/300000\r\n\r\n{s_body[262140..262151]}\r\n", body, StringComparison.Ordinal);
        Assert.Equal(3, origin.RequestCount);
    }

    [Fact]
    public async Task Clients_ThatWantTheSameSlice_ShareItsFetch()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                await go.Task;
            }

            await _file.AnswerAsync(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");
        List<RawClient> clients = [];
        for (int number = 0; number < 50; number++)
        {
            clients.Add(await service.GetAsync("/object/a", "Range: bytes=140000-150000\r\n"));
        }

        await Eventually.TrueAsync(() => service.Host.Cache.Waiting.Count == 50, "all wait for the slice");
        go.SetResult();

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(clients.Select(static client => client.ReadAsync()));

        Assert.All(answers, static answer => Assert.True(answer.Body == s_body[140_000..150_001]));
        Assert.Equal(
            [("CachingService; fwd=partial; collapsed", 49), ("CachingService; fwd=partial; fwd-status=206; stored", 1)],
            answers.GroupBy(static answer => answer.Head.CacheStatus).Select(static group => (group.Key, group.Count())).Order());

        Assert.Equal(2, origin.RequestCount);
        clients.ForEach(client => client.Vanish());
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Route_WithoutCoalescing_GivesEachClientItsOwnFetchOfASlice_UntilThatIsStored()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number is 2 or 3)
            {
                await go.Task;
            }

            await _file.AnswerAsync(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:Coalesce=false");
        await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");
        await using RawClient first = await service.GetAsync("/object/a", "Range: bytes=140000-140009\r\n");
        await using RawClient second = await service.GetAsync("/object/a", "Range: bytes=140010-140019\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 3, "each has the slice asked for");
        go.SetResult();

        Assert.Equal((s_body[140_000..140_010], s_body[140_010..140_020]), ((await first.ReadAsync()).Body, (await second.ReadAsync()).Body));
        await service.IsAtRestAsync();
        Assert.Equal("CachingService; hit; ttl=60", (await service.FetchAsync("/object/a", "Range: bytes=140000-140009\r\n")).Head.CacheStatus);
        Assert.Equal((3, 2, 0L), (origin.RequestCount, service.Host.Cache.Store.Count, service.Host.Metrics.Joins));
    }

    [Fact]
    public async Task Slice_ThatALimitRefuses_IsCountedAsOtherRefusals()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target == "/held")
            {
                await go.Task;
            }

            await _file.AnswerAsync(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:MaxFills=1");
        await service.StoreAsync("/object/a", "Range: bytes=0-9\r\n");
        await using RawClient held = await service.GetAsync("/object/held", "Range: bytes=0-9\r\n");
        await Eventually.TrueAsync(() => origin.RequestCount == 2, "the only place is taken");

        RawResponse refused = (await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n")).Head;

        Assert.Equal((503, "CachingService; detail=too-many-fills"), (refused.Status, refused.CacheStatus));
        Assert.Equal("too-many-fills=1", service.ReasonsOf("cache_refusals_total"));
        go.SetResult();
        Assert.Equal(s_body[..10], (await held.ReadAsync()).Body);
    }

    [Fact]
    public async Task Slice_GoesOutAsItComes()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 1)
            {
                await _file.AnswerAsync(exchange);
                return;
            }

            await exchange.SendAsync($"HTTP/1.1 206 X\r\n{Fields}ETag: \"a\"\r\nContent-Range: bytes 65536-131071/300000\r\nContent-Length: {Slice}\r\n\r\n{s_body[Slice..(Slice + 100)]}");
            await go.Task;
            await exchange.SendAsync(s_body[(Slice + 100)..(2 * Slice)]);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await using RawClient client = await service.GetAsync("/object/a", "Range: bytes=65536-131071\r\n");
        await client.ReadHeadAsync();

        Assert.Equal(s_body[Slice..(Slice + 100)], await client.ReadExactlyAsync(100));
        go.SetResult();
        Assert.True(s_body[(Slice + 100)..(2 * Slice)] == await client.ReadExactlyAsync(Slice - 100));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(100)]
    [InlineData(Slice)]
    public async Task SmallBody_IsWholeAfterOneRequest(int length)
    {
        _file.Body = s_body[..length];
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        (RawResponse second, string stored) = await service.FetchAsync("/object/a");

        Assert.Equal((200, null, true), (head.Status, head["Content-Range"], body == _file.Body));
        Assert.Equal(("CachingService; hit; ttl=60", true), (second.CacheStatus, stored == _file.Body));
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nETag: \"a\"\r\n", 1)]
    [InlineData("HTTP/1.1 206 X\r\nContent-Range: bytes 0-65535/300000\r\n", 2)]
    [InlineData("HTTP/1.1 206 X\r\nContent-Range: bytes 0-65535/300000\r\nETag: W/\"a\"\r\n", 2)]
    [InlineData("HTTP/1.1 206 X\r\nContent-Range: bytes 0-65535/*\r\nETag: \"a\"\r\n", 2)]
    [InlineData("HTTP/1.1 206 X\r\nContent-Range: bytes 1-65535/300000\r\nETag: \"a\"\r\n", 2)]
    [InlineData("HTTP/1.1 206 X\r\nContent-Type: multipart/byteranges; boundary=x\r\nETag: \"a\"\r\n", 2)]
    [InlineData("HTTP/1.1 416 X\r\nContent-Range: bytes */0\r\n", 2)]
    public async Task Body_OfWhichNoSliceCanBeTrusted_IsFetchedWhole(string firstHead, int requests)
    {
        await using ScriptedOrigin origin = new(exchange =>
        {
            string head = exchange.Field("Range") is null ? "HTTP/1.1 200 OK\r\n" : firstHead;
            string body = head.Contains(" 200 ", StringComparison.Ordinal) ? s_body : s_body[..Slice];
            return exchange.SendAsync($"{head}{Fields}Content-Length: {body.Length}\r\n\r\n{body}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        (RawResponse second, string stored) = await service.FetchAsync("/object/a");

        Assert.Equal((200, true), (head.Status, body == s_body));
        Assert.Equal(("CachingService; hit; ttl=60", true), (second.CacheStatus, stored == s_body));
        Assert.Equal(requests, origin.RequestCount);
    }

    [Fact]
    public async Task LastSlice_OfTheLongestBody_EndsWithIt()
    {
        const long Length = long.MaxValue;
        await using ScriptedOrigin origin = new(exchange =>
        {
            long[] ends = [.. exchange.Field("Range")!["bytes=".Length..].Split('-').Select(static text => long.Parse(text, CultureInfo.InvariantCulture))];
            long last = Math.Min(ends[1], Length - 1);
            string part = new('x', (int)(last - ends[0] + 1));
            return exchange.SendAsync($"HTTP/1.1 206 X\r\n{Fields}ETag: \"a\"\r\nContent-Range: bytes {ends[0]}-{last}/{Length}\r\nContent-Length: {part.Length}\r\n\r\n{part}");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Range: bytes=-3\r\n");

        Assert.Equal((206, $"bytes {Length - 3}-{Length - 1}/{Length}", "xxx"), (head.Status, head["Content-Range"], body));
        Assert.Equal($"bytes={Length - 65535}-{Length - 1}", origin.Exchanges[1].Field("Range"));
        await service.IsAtRestAsync();
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Date_ThatIsOldEnough_IsAValidatorToo()
    {
        await using ScriptedOrigin origin = new(exchange => _file.AnswerAsync(
            exchange, "Last-Modified: Wed, 01 Jul 2026 00:00:00 GMT\r\nDate: Wed, 01 Jul 2026 01:00:00 GMT\r\nCache-Control: max-age=999999999\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body);
        Assert.Equal(5, origin.RequestCount);
        Assert.Equal("Wed, 01 Jul 2026 00:00:00 GMT", origin.Exchanges[1].Field("If-Range"));
    }

    [Fact]
    public async Task Conditions_AreThoseOfTheWholeBody()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await using RawClient asker = await service.GetAsync("/object/a", method: "HEAD");
        RawResponse known = (await asker.ReadAsync(isHead: true)).Head;
        await using RawClient other = await service.GetAsync("/object/a", "If-None-Match: \"a\"\r\n");
        RawResponse unchanged = (await other.ReadAsync(isHead: true)).Head;
        RawResponse beyond = (await service.FetchAsync("/object/a", "Range: bytes=300000-\r\n")).Head;
        (RawResponse whole, string all) = await service.FetchAsync("/object/a", "Range: bytes=5-9\r\nIf-Range: \"b\"\r\n");
        (RawResponse part, string bytes) = await service.FetchAsync("/object/a", "Range: bytes=65536-65540\r\nIf-Range: \"a\"\r\n");

        Assert.Equal((200, "300000"), (known.Status, known["Content-Length"]));
        Assert.Equal(304, unchanged.Status);
        Assert.Equal((416, "bytes */300000"), (beyond.Status, beyond["Content-Range"]));
        Assert.Equal((200, true), (whole.Status, all == s_body));
        Assert.Equal((206, s_body[65536..65541]), (part.Status, bytes));
    }

    [Fact]
    public async Task Body_ThatIsForOneClient_IsWholeForIt()
    {
        await using ScriptedOrigin origin = new(exchange => _file.AnswerAsync(exchange, "ETag: \"a\"\r\nCache-Control: private\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, On);

        (RawResponse head, string body) = await service.FetchAsync("/object/a");

        Assert.Equal((200, "300000", true), (head.Status, head["Content-Length"], body == s_body));
        Assert.Null(origin.Exchanges[1].Field("Range"));
    }

    [Fact]
    public async Task Body_ThatMayNotBeStored_IsFetchedAnew()
    {
        await using ScriptedOrigin origin = new(exchange => _file.AnswerAsync(exchange, "ETag: \"a\"\r\nCache-Control: max-age=0\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:KeepStale=0");

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body);
        _file.Body = VersionedFile.BodyOf('b');
        Assert.True((await service.FetchAsync("/object/a")).Body == _file.Body);

        await service.IsAtRestAsync();
        Assert.Equal(0, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task Body_LargerThanTheMemory_IsServedAndTheStoreStaysWithinItsLimit()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:MaxBytes=200KiB", "--Cache:MaxObjectBytes=128KiB");

        for (int time = 0; time < 3; time++)
        {
            Assert.True((await service.FetchAsync("/object/a")).Body == s_body);
            Assert.InRange(service.Host.Cache.Ledger.StoredBytes, 1, 200 * 1024);
        }

        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Slices_AreOnTheDiskAfterARestart()
    {
        string directory = Directory.CreateTempSubdirectory("slices-").FullName;
        string[] options = [On, $"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB"];
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            await service.FetchAsync("/object/a");
        }

        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a");

            Assert.Equal(("CachingService; hit; ttl=60; detail=disk", true), (head.CacheStatus, body == s_body));
            Assert.Equal(5, origin.RequestCount);
        }

        Directory.Delete(directory, recursive: true);
    }

    [Fact]
    public async Task Client_ThatLeaves_LeavesTheSlicesThatItHasHadFetched()
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 3)
            {
                await go.Task;
            }

            await _file.AnswerAsync(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await using (RawClient client = await service.GetAsync("/object/a"))
        {
            await Eventually.TrueAsync(() => origin.RequestCount == 3, "the third slice is asked for");
            client.Vanish();
        }

        go.SetResult();
        await service.IsAtRestAsync();
        Assert.True((await service.FetchAsync("/object/a")).Body == s_body);
        Assert.InRange(origin.RequestCount, 5, 6);
    }
}
