using System.Diagnostics;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Tests;

/// <summary>The spans of requests, waits, fetches and passes, for a listener to <c>IoUringCache.Caching</c>.</summary>
[Collection(nameof(TraceCollection))]
public sealed class TraceTests
{
    private const string Request = "Microsoft.AspNetCore.Hosting.HttpRequestIn";

    [Fact]
    public async Task Fetch_IsASpanOfItsFirstRequest_WithALinkToEachThatWaits()
    {
        const int Requests = 4;
        using SpanList spans = new();
        TaskCompletionSource go = new();
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapGet("/traced", async () =>
        {
            await go.Task;
            return "12345";
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();

        string[] traces = [.. Enumerable.Range(0, Requests).Select(static _ => $"{ActivityTraceId.CreateRandom()}")];
        Task<HttpResponseMessage>[] responses = [.. traces.Select(trace => client.BeginAsync("/traced", ("traceparent", $"00-{trace}-00000000000000aa-01")))];
        await Eventually.TrueAsync(() => app.Engine.Waiting.Count == Requests, "all wait");
        go.SetResult();
        foreach (Task<HttpResponseMessage> response in responses)
        {
            Assert.Equal("12345", await (await response).ReadRestAsync());
        }

        Assert.Equal(200, (await client.FetchAsync("/traced")).Status);
        await Eventually.TrueAsync(() => spans.Named("cache.fetch", "/traced").Count == 1, "the fetch has ended");

        Activity fetch = Assert.Single(spans.Named("cache.fetch", "/traced"));
        Assert.Equal(("uri-miss", ActivityKind.Internal), (fetch.GetTagItem("cache.forward"), fetch.Kind));
        Assert.Equal((200, 5L), (fetch.GetTagItem("http.response.status_code"), fetch.GetTagItem("http.response.body.size")));
        List<ActivitySpanId> linked = [.. fetch.Links.Select(static link => link.Context.SpanId)];
        foreach (string trace in traces)
        {
            Activity request = await spans.OneAsync(trace, Request);
            Assert.Equal("00000000000000aa", request.ParentSpanId.ToHexString());
            if (request.SpanId == fetch.ParentSpanId)
            {
                Assert.Equal((trace, "miss"), (fetch.TraceId.ToHexString(), request.GetTagItem("cache.outcome")));
                Assert.Empty(spans.Of(trace, "cache.wait"));
                continue;
            }

            Assert.True(linked.Remove(request.SpanId), "the fetch links to each that waits");
            Assert.Equal("join", request.GetTagItem("cache.outcome"));
            Activity wait = await spans.OneAsync(trace, "cache.wait");
            Assert.Equal(request.SpanId, wait.ParentSpanId);
            Assert.Equal(fetch.Context.SpanId, Assert.Single(wait.Links).Context.SpanId);
        }

        Assert.Empty(linked);
    }

    [Fact]
    public async Task Fetch_ThatFails_SaysWhy()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory, app => app.MapStreamingCache("/failing", origin.Url), "FillAttempts=1");
        using HttpClient client = app.CreateClient();

        Assert.Equal(502, (await client.FetchAsync("/failing")).Status);
        await Eventually.TrueAsync(() => spans.Named("cache.fetch", "/failing").Count == 1, "the fetch has ended");

        Activity fetch = Assert.Single(spans.Named("cache.fetch", "/failing"));
        Assert.Equal((ActivityStatusCode.Error, "origin-unreachable"), (fetch.Status, fetch.GetTagItem("error.type")));
        Assert.Null(fetch.GetTagItem("http.response.status_code"));
    }

    [Theory]
    [InlineData("GET", "200 OK", "cache.fetch", "uri-miss", null)]
    [InlineData("GET", "404 Not Found", "cache.fetch", "uri-miss", null)]
    [InlineData("GET", "503 Unavailable", "cache.fetch", "uri-miss", "503")]
    [InlineData("POST", "200 OK", "cache.pass", "method", null)]
    [InlineData("POST", "500 Broken", "cache.pass", "method", "500")]
    public async Task Span_OfARequestToTheOrigin_SaysWhatWasAskedAndAnswered(string method, string status, string name, string forward, string? error)
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync($"HTTP/1.1 {status}\r\nContent-Length: 1\r\n\r\nx"));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapStreamingCache("/{**path}", $"{origin.Url}/base"));
        using HttpClient client = app.CreateClient();
        string trace = $"{ActivityTraceId.CreateRandom()}";
        using HttpRequestMessage request = new(new(method), "/a/b?c=d") { Headers = { { "traceparent", $"00-{trace}-00000000000000aa-01" } } };
        (await client.SendAsync(request).WaitAsync(Patience.Limit)).Dispose();

        Activity span = await spans.OneAsync(trace, name);
        Assert.Equal((ActivityKind.Client, (await spans.OneAsync(trace, Request)).SpanId), (span.Kind, span.ParentSpanId));
        Uri address = new(origin.Url);
        Dictionary<string, object?> tags = span.TagObjects.ToDictionary();
        Assert.Equal((address.Host, address.Port, "/base/a/b"), (tags["server.address"], tags["server.port"], tags["url.path"]));
        Assert.Equal((method, int.Parse(status[..3], null), forward), (tags["http.request.method"], tags["http.response.status_code"], tags["cache.forward"]));
        Assert.Equal((error, error is not null), (tags.GetValueOrDefault("error.type"), span.Status == ActivityStatusCode.Error));
        Assert.False(tags.ContainsKey("http.request.resend_count"));
    }

    [Fact]
    public async Task Request_SpanSaysWhatTheCacheDid()
    {
        using SpanList spans = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory, app => app.MapStreamingCache("/{**path}", origin.Url), "Routes:0:Prefix=in/");
        using HttpClient client = app.CreateClient();
        foreach ((string target, string field, string outcome, string? route) in new[]
        {
            ("/in/a", "X-None", "miss", "in/"), ("/in/a", "X-None", "hit", "in/"), ("/b", "X-None", "miss", null), ("/in/a", "Cookie", "pass", "in/"),
        })
        {
            string trace = $"{ActivityTraceId.CreateRandom()}";
            await client.FetchAsync(target, ("traceparent", $"00-{trace}-00000000000000aa-01"), (field, "a=b"));
            Activity request = await spans.OneAsync(trace, Request);
            Assert.Equal((outcome, route), (request.GetTagItem("cache.outcome"), request.GetTagItem("cache.route")));
        }
    }

    [Fact]
    public async Task Request_ThatIsNotRecorded_HasNoSpansOfTheCache()
    {
        using SpanList spans = new(follows: true);
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapStreamingCache("/{**path}", origin.Url));
        using HttpClient client = app.CreateClient();
        string trace = $"{ActivityTraceId.CreateRandom()}";
        await client.FetchAsync("/a", ("traceparent", $"00-{trace}-00000000000000aa-00"));

        Activity request = await spans.OneAsync(trace, Request);
        Assert.DoesNotContain(request.TagObjects, static tag => tag.Key.StartsWith("cache.", StringComparison.Ordinal));
        Assert.All(spans.Of(trace, "cache.fetch"), static span => Assert.False(span.IsAllDataRequested));
    }

    [Fact]
    public async Task EndPoint_RunsInTheSpanOfItsFetchOrPass()
    {
        using SpanList spans = new();
        List<Activity?> seen = [];
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapMethods("/inside", ["GET", "POST"], () =>
        {
            seen.Add(Activity.Current);
            return "x";
        }).WithStreamingCache());
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/inside");
        using HttpResponseMessage response = await client.PostAsync("/inside", null).WaitAsync(Patience.Limit);

        Assert.Equal(["cache.fetch", "cache.pass"], seen.Select(static span => span?.OperationName));
    }

    [Fact]
    public async Task NoListener_NoSpan()
    {
        List<Activity?> seen = [];
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app => app.MapMethods("/outside", ["GET", "POST"], () =>
        {
            seen.Add(Activity.Current);
            return "x";
        }).WithStreamingCache());
        using HttpClient client = app.CreateClient();
        await client.FetchAsync("/outside", ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01"));
        using HttpResponseMessage response = await client.PostAsync("/outside", null).WaitAsync(Patience.Limit);
        Assert.Equal([null, null], seen);

        HttpRequest request = new DefaultHttpContext { Request = { Headers = { TraceParent = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01" } } }.Request;
        long before = GC.GetAllocatedBytesForCurrentThread();
        Assert.Null(OriginTrace.OfFetch(request, "key", isInProcess: false, isTold: false));
        Assert.Null(OriginTrace.OfPass(request, "key", isInProcess: false, isTold: true));
        Assert.Null(CacheSpans.StartWait());
        CacheSpans.Tell(RequestOutcome.Hit, "route");
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }
}

/// <summary>A listener hears of the whole process, so tests with one and tests without take turns.</summary>
[CollectionDefinition(nameof(TraceCollection))]
public sealed class TraceCollection;
