using System.Collections.Concurrent;
using System.Diagnostics;

namespace IoUringCache.Caching.Tests;

/// <summary>The spans of fetches, for whoever listens to <c>IoUringCache.Caching</c>.</summary>
public sealed class TraceTests
{
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

        Task<HttpResponseMessage>[] responses = [.. Enumerable.Range(0, Requests).Select(_ => client.BeginAsync("/traced"))];
        await Eventually.TrueAsync(() => app.Engine.Waiting.Count == Requests, "all wait");
        go.SetResult();
        foreach (Task<HttpResponseMessage> response in responses)
        {
            (await response).Dispose();
        }

        Assert.Equal(200, (await client.FetchAsync("/traced")).Status);
        await Eventually.TrueAsync(() => spans.Named("cache.fetch", "/traced").Count == 1, "the fetch has ended");

        Activity fetch = Assert.Single(spans.Named("cache.fetch", "/traced"));
        Assert.Equal("uri-miss", fetch.GetTagItem("cache.forward"));
        Assert.Equal((200, 5L), (fetch.GetTagItem("http.response.status_code"), fetch.GetTagItem("http.response.body.size")));
        Assert.Equal(Requests - 1, fetch.Links.Select(static link => link.Context.SpanId).Distinct().Count());
        Assert.DoesNotContain(fetch.ParentSpanId, fetch.Links.Select(static link => link.Context.SpanId));
        Assert.NotEqual(default, fetch.ParentSpanId);
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

    /// <summary>All spans of the process, of requests and of fetches, as they end.</summary>
    private sealed class SpanList : IDisposable
    {
        private readonly ConcurrentQueue<Activity> _ended = new();
        private readonly ActivityListener _listener;

        public SpanList()
        {
            _listener = new()
            {
                ShouldListenTo = static source => source.Name is "IoUringCache.Caching" or "Microsoft.AspNetCore",
                Sample = static (ref _) => ActivitySamplingResult.AllDataAndRecorded,
                ActivityStopped = _ended.Enqueue,
            };
            ActivitySource.AddActivityListener(_listener);
        }

        public List<Activity> Named(string name, string path) =>
            [.. _ended.Where(span => span.OperationName == name && $"{span.GetTagItem("cache.key")}".EndsWith(path, StringComparison.Ordinal))];

        public void Dispose() => _listener.Dispose();
    }
}
