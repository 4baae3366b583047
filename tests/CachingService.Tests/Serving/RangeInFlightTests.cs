using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// Ranges of an object that is being received: one fill of the whole object, asked for without a range, and every reader of a range
/// follows it. Ten bytes, of which three come at first.
/// </summary>
public sealed class RangeInFlightTests
{
    private const string Fields = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"a\"\r\nContent-Type: text/x\r\n";
    private const string Known = Fields + "Content-Length: 10\r\n\r\n012";
    private const string Unknown = Fields + "Transfer-Encoding: chunked\r\n\r\n3\r\n012\r\n";
    private const string InFlight = "CachingService; hit; detail=in-flight";
    private const string Leader = "CachingService; fwd=uri-miss; fwd-status=200; stored";

    [Theory]
    [InlineData("inside received bytes", "bytes=1-2", "bytes 1-2/10", "12")]
    [InlineData("ends at the live end", "bytes=0-2", "bytes 0-2/10", "012")]
    public async Task LengthKnown_BytesThere_Are206AtOnce(string row, string range, string contentRange, string expected)
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456789");
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.True((206, contentRange, expected) == (head.Status, head["Content-Range"]!, body), row);
        Assert.Equal((InFlight, "bytes"), (head.CacheStatus, head["Accept-Ranges"]));
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
        await scene.EndAsync("0123456789");
    }

    [Theory]
    [InlineData("ahead of the live end", "bytes=5-7", "bytes 5-7/10", "", "567")]
    [InlineData("across the live end", "bytes=1-4", "bytes 1-4/10", "12", "34")]
    [InlineData("open", "bytes=2-", "bytes 2-9/10", "2", "3456789")]
    [InlineData("open ahead of the live end", "bytes=9-", "bytes 9-9/10", "", "9")]
    [InlineData("suffix", "bytes=-4", "bytes 6-9/10", "", "6789")]
    [InlineData("suffix longer than the body", "bytes=-99", "bytes 0-9/10", "012", "3456789")]
    public async Task LengthKnown_BytesToCome_Are206AtOnceAndFollow(string row, string range, string contentRange, string now, string later)
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456789");
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");

        RawResponse head = await client.ReadHeadAsync();
        Assert.True((206, contentRange, now) == (head.Status, head["Content-Range"]!, await client.ReadExactlyAsync(now.Length)), row);
        await scene.EndAsync("0123456789");

        Assert.Equal(later, await client.ReadExactlyAsync(later.Length));
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Fact]
    public async Task LengthKnown_RangeBeyondTheEnd_Is416AtOnce()
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456789");
        await using RawClient client = await scene.Service.GetAsync("/object/a", "Range: bytes=10-\r\n");

        (RawResponse head, _) = await client.ReadAsync();

        Assert.Equal((416, "bytes */10", InFlight), (head.Status, head["Content-Range"], head.CacheStatus));
        await client.SendAsync("/object/a", "Range: bytes=0-0\r\n");
        Assert.Equal("0", (await client.ReadAsync()).Body);
        await scene.EndAsync("0123456789");
    }

    [Fact]
    public async Task LengthKnown_SeveralRanges_AreMultipartInAscendingOrder()
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456789");
        await using RawClient client = await scene.Service.GetAsync("/object/a", "Range: bytes=5-6,0-1,-1\r\n");

        RawResponse head = await client.ReadHeadAsync();
        string boundary = RangeHitTests.BoundaryOf(head);
        string first = RangeHitTests.Part(boundary, "0-1/10", "01");
        Assert.Equal((206, first), (head.Status, await client.ReadExactlyAsync(first.Length)));
        await scene.EndAsync("0123456789");

        string rest = string.Concat(
            "\r\n", RangeHitTests.Part(boundary, "5-6/10", "56"), "\r\n", RangeHitTests.Part(boundary, "9-9/10", "9"), $"\r\n--{boundary}--\r\n");
        Assert.Equal(rest, await client.ReadExactlyAsync(rest.Length));
        Assert.Equal($"{first.Length + rest.Length}", head["Content-Length"]);
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Fact]
    public async Task LengthUnknown_RangeReceived_Is206WithoutALength()
    {
        await using Scene scene = await Scene.StartAsync(Unknown, "7\r\n3456789\r\n0\r\n\r\n");
        await using RawClient client = await scene.Service.GetAsync("/object/a", "Range: bytes=1-2\r\n");

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.Equal((206, "bytes 1-2/*", "12", "2"), (head.Status, head["Content-Range"], body, head["Content-Length"]));
        Assert.Equal((InFlight, null), (head.CacheStatus, head["Transfer-Encoding"]));
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
        await scene.EndAsync("0123456789");
    }

    [Theory]
    [InlineData("last byte arrives", "bytes=1-4", "3\r\n345\r\n", 206, "bytes 1-4/*", "1234")]
    [InlineData("both ends ahead arrive", "bytes=4-5", "3\r\n345\r\n", 206, "bytes 4-5/*", "45")]
    [InlineData("end comes before the last byte", "bytes=1-99", "7\r\n3456789\r\n0\r\n\r\n", 206, "bytes 1-9/10", "123456789")]
    [InlineData("end comes before the first byte", "bytes=10-11", "7\r\n3456789\r\n0\r\n\r\n", 416, "bytes */10", "")]
    [InlineData("open, end comes before the first byte", "bytes=10-", "7\r\n3456789\r\n0\r\n\r\n", 416, "bytes */10", "")]
    [InlineData("open, end comes with the first byte", "bytes=9-", "7\r\n3456789\r\n0\r\n\r\n", 206, "bytes 9-9/10", "9")]
    public async Task LengthUnknown_RangeToCome_WaitsForWhatDecides(
        string row, string range, string rest, int status, string contentRange, string expected)
    {
        await using Scene scene = await Scene.StartAsync(Unknown, rest);
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");
        await scene.HeldAsync();
        scene.Go();

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.True((status, contentRange, expected) == (head.Status, head["Content-Range"]!, body), $"{row}: {head.Head}{body}");
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Theory]
    [InlineData("last byte does not come", "bytes=1-4")]
    [InlineData("first byte does not come", "bytes=5-6")]
    [InlineData("open, first byte does not come", "bytes=5-")]
    public async Task LengthUnknown_RangeThatDoesNotCome_IsWholeAfterTheHold(string row, string range)
    {
        await using Scene scene = await Scene.StartAsync(Unknown, "7\r\n3456789\r\n0\r\n\r\n", "--Cache:RangeHoldTime=3s");
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");
        await scene.HeldAsync();
        scene.Service.Time.Advance(TimeSpan.FromSeconds(3));

        RawResponse head = await client.ReadHeadAsync();
        Assert.True((200, (string?)null) == (head.Status, head["Content-Range"]), row);
        await scene.EndAsync("0123456789");

        Assert.Equal("0123456789", await client.ReadBodyAsync(head));
        await client.SendAsync("/health");
        Assert.Equal("OK", (await client.ReadAsync()).Body);
    }

    [Theory]
    [InlineData("open", "bytes=1-")]
    [InlineData("open from the start", "bytes=0-")]
    [InlineData("suffix", "bytes=-2")]
    [InlineData("several", "bytes=0-0,2-2")]
    public async Task LengthUnknown_RangeWithoutALastByte_IsWholeAtOnce(string row, string range)
    {
        await using Scene scene = await Scene.StartAsync(Unknown, "7\r\n3456789\r\n0\r\n\r\n");
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");

        RawResponse head = await client.ReadHeadAsync();
        Assert.True((200, "chunked") == (head.Status, head["Transfer-Encoding"]!), row);
        Assert.Equal("012", await client.ReadChunkAsync());
        await scene.EndAsync("0123456789");

        Assert.Equal("3456789", await client.ReadBodyAsync(head));
    }

    [Theory]
    [InlineData("ahead", "bytes=5-7", "")]
    [InlineData("across", "bytes=1-7", "12")]
    public async Task Broken_LengthKnown_CutsThe206(string row, string range, string now)
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456", breaks: true);
        await using RawClient client = await scene.Service.GetAsync("/object/a", $"Range: {range}\r\n");
        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal((206, now), (head.Status, await client.ReadExactlyAsync(now.Length)));

        scene.Go();

        int wanted = int.Parse(head["Content-Length"]!, System.Globalization.CultureInfo.InvariantCulture);
        Assert.True((await client.ReadToCloseAsync()).Length < wanted - now.Length, row);
        await scene.Service.IsAtRestAsync();
        Assert.Equal(0, scene.Service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task Broken_WhileARangeIsHeld_IsAnError()
    {
        await using Scene scene = await Scene.StartAsync(Unknown, "", breaks: true);
        await using RawClient client = await scene.Service.GetAsync("/object/a", "Range: bytes=5-7\r\n");
        await scene.HeldAsync();

        scene.Go();

        (RawResponse head, _) = await client.ReadAsync();
        Assert.Equal((502, "CachingService; detail=origin-body-broken"), (head.Status, head.CacheStatus));
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task Held_ClientThatVanishes_LeavesNothing()
    {
        await using Scene scene = await Scene.StartAsync(Unknown, "7\r\n3456789\r\n0\r\n\r\n");
        RawClient client = await scene.Service.GetAsync("/object/a", "Range: bytes=5-7\r\n");
        await scene.HeldAsync();

        client.Vanish();

        await Eventually.TrueAsync(() => scene.Service.Time.ArmedTimers == scene.TimersBefore, "nothing is held");
        await client.DisposeAsync();
        await scene.EndAsync("0123456789");
    }

    [Theory]
    [InlineData(true, "bytes=4-5", 206, "bytes 4-5/10", "45")]
    [InlineData(false, "bytes=4-5", 206, "bytes 4-5/*", "45")]
    [InlineData(true, "bytes=99-", 416, "bytes */10", "")]
    public async Task Miss_WithARange_FillsTheWholeObjectOnce(bool isLengthKnown, string range, int status, string contentRange, string expected)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync((isLengthKnown ? Known : Unknown) + (isLengthKnown ? "345" : "3\r\n345\r\n"));
            await rest.Task;
            await exchange.SendAsync(isLengthKnown ? "6789" : "4\r\n6789\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a", $"Range: {range}\r\nIf-Range: \"a\"\r\n");

        (RawResponse head, string body) = await leader.ReadAsync();
        Assert.Equal((status, contentRange, expected, Leader), (head.Status, head["Content-Range"], body, head.CacheStatus));
        rest.SetResult();
        await service.IsAtRestAsync();

        await leader.SendAsync("/object/a", "Range: bytes=-2\r\n");
        (RawResponse hit, string last) = await leader.ReadAsync();
        Assert.Equal((206, "bytes 8-9/10", "89", "CachingService; hit; ttl=60"), (hit.Status, hit["Content-Range"], last, hit.CacheStatus));
        Assert.Equal("0123456789", (await service.FetchAsync("/object/a")).Body);
        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal((null, null), (exchange.Field("Range"), exchange.Field("If-Range")));
    }

    [Fact]
    public async Task NoRoomInFlight_RangesFarAhead_PaceTheFillAndGetTheirBytes()
    {
        const int Length = 8 << 20;
        string large = string.Concat(Enumerable.Range(0, Length / 8).Select(number => $"{number:x8}"));
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(large));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:MaxInFlightBytes=1MiB", "--Cache:ReadAheadBytes=128KiB");
        await using RawClient client = await service.GetAsync("/object/a", "Range: bytes=6000001-6000100,1-9,-5\r\n");

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.Equal(206, head.Status);
        int first = body.IndexOf(large[1..10], StringComparison.Ordinal);
        int second = body.IndexOf(large[6_000_001..6_000_101], StringComparison.Ordinal);
        Assert.True(first > 0 && second > first && body.IndexOf(large[^5..], second, StringComparison.Ordinal) > second, body);
        Assert.Equal((1, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task TooLarge_Range_GoesToTheOriginAloneAndTheFillEnds()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Field("Range") is null)
            {
                await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10000000000\r\n\r\n012");
                await exchange.ClosedByServiceAsync();
                return;
            }

            await exchange.SendAsync(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 9000000000-9000000001/10000000000\r\nContent-Length: 2\r\n\r\nxy");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Range: bytes=9000000000-9000000001\r\n");

        Assert.Equal((206, "xy"), (head.Status, body));
        Assert.Equal("CachingService; fwd=bypass; fwd-status=206; detail=too-large", head.CacheStatus);
        Assert.Equal([null, "bytes=9000000000-9000000001"], origin.Exchanges.Select(exchange => exchange.Field("Range")));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Http2_RangeToCome_FollowsTheFill(bool breaks)
    {
        await using Scene scene = await Scene.StartAsync(Known, "3456", ["--Protocols=Http2"], breaks, more: breaks ? "" : "789");
        using Http2Client client = new(scene.Service.Url);
        using HttpResponseMessage response = await client.GetAsync("/object/a", fields: [("Range", "bytes=5-8")]);
        Assert.Equal((206, 4L), ((int)response.StatusCode, response.Content.Headers.ContentLength));
        scene.Go();

        Task<string> body = response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        if (breaks)
        {
            await Assert.ThrowsAnyAsync<HttpRequestException>(
                () => body.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        }
        else
        {
            Assert.Equal("5678", await body.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        }
    }
}
