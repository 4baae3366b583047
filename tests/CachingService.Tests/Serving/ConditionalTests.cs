using System.Net;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Conditions that the cache answers itself, from what is stored and from what is being received.</summary>
public sealed class ConditionalTests
{
    private const string Changed = "Sun, 06 Nov 1994 08:49:37 GMT";

    /// <summary>Where the service's clock starts.</summary>
    private const string Made = "Tue, 01 Jan 2030 00:00:00 GMT";
    private const string Tag = "Cache-Control: max-age=60\r\nETag: \"a\"\r\n";
    private const string Unchanged = "If-None-Match: \"a\"\r\n";

    [Theory]
    [InlineData("GET", "HTTP/1.1", "If-None-Match: W/\"a\"\r\n")]
    [InlineData("HEAD", "HTTP/1.1", "If-None-Match: \"x\", \"a\"\r\n")]
    [InlineData("GET", "HTTP/1.1", "If-None-Match: *\r\nRange: bytes=0-1\r\n")]
    [InlineData("GET", "HTTP/1.1", "If-Modified-Since: " + Changed + "\r\n")]
    [InlineData("HEAD", "HTTP/1.1", "If-Modified-Since: " + Changed + "\r\n")]
    [InlineData("GET", "HTTP/1.0", "If-None-Match: \"a\"\r\nConnection: keep-alive\r\n")]
    public async Task Hit_Unchanged_Is304AndTheConnectionGoesOn(string method, string version, string condition)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", $"{Tag}Last-Modified: {Changed}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int count = 0; count < 2; count++)
        {
            await client.SendAsync("/object/a", condition, method, version);
            RawResponse head = await client.ReadHeadAsync();
            Assert.Equal((304, "CachingService; hit; ttl=60"), (head.Status, head.CacheStatus));
            Assert.Equal((null, null, null), (head["Content-Length"], head["Transfer-Encoding"], head["Content-Range"]));
        }

        await client.SendAsync("/object/a");
        Assert.Equal("hello", (await client.ReadAsync()).Body);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("If-None-Match: \"b\"\r\n")]
    [InlineData("If-None-Match: a\r\n")]
    [InlineData("If-None-Match: \"b\"\r\nIf-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT\r\n")]
    [InlineData("If-Match: \"b\"\r\n")]
    public async Task Hit_ChangedOrUnreadable_IsWhole(string condition)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", Tag));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", condition);

        Assert.Equal((200, "hello", 1), (head.Status, body, origin.RequestCount));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task NotModified_HasTheFieldsThatItWants(bool hasTag)
    {
        string tag = hasTag ? "ETag: \"a\"\r\n" : "";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            "hello",
            $"Cache-Control: max-age=60\r\nContent-Location: /b\r\nExpires: {Changed}\r\nDate: {Made}\r\nLast-Modified: {Changed}\r\n{tag}"
            + "Content-Type: text/x\r\nContent-Language: en\r\nX-Other: 1\r\nServer: y\r\nVia: 1.1 inner\r\nCache-Status: Inner; hit\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(7));

        await using RawClient client = await service.GetAsync("/object/a", $"If-Modified-Since: {Changed}\r\n");
        RawResponse head = await client.ReadHeadAsync();

        IEnumerable<string> names = head.Head.Split("\r\n", StringSplitOptions.RemoveEmptyEntries).Skip(1).Select(line => line.Split(':')[0]);
        Assert.Equal(
            new SortedSet<string>
            {
                "Age", "Cache-Control", "Cache-Status", "Content-Location", "Date", "Expires", "Via", hasTag ? "ETag" : "Last-Modified",
            },
            new SortedSet<string>(names));
        Assert.Equal(
            ("max-age=60", "7", "Inner; hit, CachingService; hit; ttl=53", Made),
            (head["Cache-Control"], head["Age"], head.CacheStatus, head["Date"]));
    }

    /// <summary>A cache in front keeps what a 304 does not name (RFC 9111 3.2), so it would go by the directives of before.</summary>
    [Fact]
    public async Task NotModified_TellsACacheInFrontOfItsDirectives()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is null
            ? exchange.AnswerAsync("hello", "CDN-Cache-Control: max-age=60\r\nETag: \"a\"\r\n")
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCDN-Cache-Control: max-age=5\r\nETag: \"a\"\r\n\r\n"));
        await using TestService inner = await TestService.StartAsync(origin.Url);
        await using TestService edge = await TestService.StartAsync(inner.Url + "/object");
        await edge.StoreAsync("/object/a");
        inner.Time.Advance(TimeSpan.FromSeconds(61));
        edge.Time.Advance(TimeSpan.FromSeconds(61));
        await edge.StoreAsync("/object/a");

        Assert.EndsWith("CachingService; hit; ttl=5", (await edge.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Fill_Unchanged_Is304AsSoonAsTheHeadersAreKnown()
    {
        (TaskCompletionSource headers, TaskCompletionSource rest) = (new(), new());
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await headers.Task;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Tag}Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
            await rest.Task;
            await exchange.SendAsync("0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient leader = await service.GetAsync("/object/a", Unchanged);
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "leader's request");
        await using RawClient waiter = await service.GetAsync("/object/a", Unchanged, "HEAD");
        await service.JoinedAsync(1);
        headers.SetResult();

        RawResponse leaderHead = await leader.ReadHeadAsync();
        RawResponse waiterHead = await waiter.ReadHeadAsync();
        await leader.SendAsync("/object/a", Unchanged);
        RawResponse lateHead = await leader.ReadHeadAsync();
        await using RawClient reader = await service.GetAsync("/object/a", "If-None-Match: \"b\"\r\n");
        RawResponse readerHead = await reader.ReadHeadAsync();

        Assert.Equal((304, 304, 304, 200), (leaderHead.Status, waiterHead.Status, lateHead.Status, readerHead.Status));
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", leaderHead.CacheStatus);
        Assert.Equal(("CachingService; fwd=uri-miss; collapsed", "0"), (waiterHead.CacheStatus, waiterHead["Age"]));
        Assert.Equal("CachingService; hit; detail=in-flight", lateHead.CacheStatus);
        Assert.Null(leaderHead["Age"]);

        // All who got a 304 have left; the object is received to its end all the same.
        rest.SetResult();
        Assert.Equal("one", await reader.ReadBodyAsync(readerHead));
        await service.IsAtRestAsync();
        Assert.Equal((1, 1), (service.Host.Cache.Store.Count, origin.RequestCount));
        Assert.Null(origin.Exchanges[0].Field("If-None-Match"));
    }

    [Fact]
    public async Task Response_ForOneClient_IsNotComparedByUs()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", "Cache-Control: private\r\nETag: \"a\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Unchanged);

        Assert.Equal((200, "hello"), (head.Status, body));
        Assert.Null(head["Accept-Ranges"]);
    }

    [Fact]
    public async Task Http2_Unchanged_Is304()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", Tag));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        using HttpResponseMessage first = await client.GetAsync("/object/a");
        using HttpResponseMessage second = await client.GetAsync("/object/a", fields: [("If-None-Match", "\"a\"")]);
        using HttpResponseMessage third = await client.GetAsync("/object/a");

        Assert.Equal(
            (HttpStatusCode.OK, HttpStatusCode.NotModified, HttpStatusCode.OK), (first.StatusCode, second.StatusCode, third.StatusCode));
        Assert.Equal("\"a\"", second.Headers.ETag?.Tag);
        await service.IsAtRestAsync();
    }
}
