using System.Buffers;

namespace IoUringCache.Caching.Tests;

/// <summary>End points whose time is over, that fail at their end, or that two calls put a cache in front of.</summary>
public sealed class EndpointEndTests
{
    /// <summary>What it has written by then is not all of it, though it returns as if it were.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Endpoint_WhoseTimeIsOver_IsCutVisibly(bool returns)
    {
        FakeTime time = new();
        TaskCompletionSource end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.Sockets,
            builder => builder.Services.AddSingleton<TimeProvider>(time),
            app => app.MapGet("/endless", async (HttpContext context) =>
            {
                await context.Response.WriteAsync("one");
                await context.Response.Body.FlushAsync();
                await using CancellationTokenRegistration told = context.RequestAborted.Register(() => _ = returns && end.TrySetResult());
                await end.Task.WaitAsync(4 * Patience.Limit);
            }).WithStreamingCache(TimeSpan.FromMinutes(1)),
            "MaxFillAge=10s");
        using HttpClient client = app.CreateClient();
        using HttpResponseMessage response = await client.BeginAsync("/endless");
        Stream body = await response.Content.ReadAsStreamAsync();
        Assert.Equal("one", await body.ReadTextAsync(3));

        time.Advance(TimeSpan.FromSeconds(10));

        Assert.IsNotType<EndOfStreamException>(await Assert.ThrowsAnyAsync<IOException>(() => body.ReadTextAsync(1)));
        await Eventually.TrueAsync(() => app.Engine.Fills.ActiveCount == 0, "the fetch has ended");
        Assert.Empty(app.Cache.Find(EndpointTests.KeyOf(app, "/endless")));
        end.TrySetResult();
    }

    /// <summary>As in the server: what it does after that is no part of the response any more, and neither is how that ends.</summary>
    [Fact]
    public async Task Response_ThatIsCompleted_IsWholeBeforeTheEndpointReturns()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource<bool> completed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.Sockets, app => app.MapGet("/a", async (HttpResponse response) =>
        {
            response.OnCompleted(() => Task.FromResult(completed.TrySetResult(true)));
            response.BodyWriter.Write("one"u8);
            await response.CompleteAsync();
            await go.Task.WaitAsync(4 * Patience.Limit);
            throw new InvalidOperationException("too late to tell");
        }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();

        Assert.Equal((200, $"{CacheApp.Name}; fwd=uri-miss; fwd-status=200; stored", "one"), await client.FetchAsync("/a"));
        go.SetResult();
        await completed.Task.WaitAsync(Patience.Limit);

        Assert.Equal((200, $"{CacheApp.Name}; hit", "one"), await client.FetchAsync("/a"));
    }

    /// <summary>A timer of the framework goes up to 49 days.</summary>
    [Fact]
    public async Task Endpoint_WithTheLongestTime_IsRun()
    {
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory, app => app.MapGet("/a", () => "a").WithStreamingCache(TimeSpan.FromMinutes(1)), "MaxFillAge=365d");
        using HttpClient client = app.CreateClient();
        Assert.Equal((200, $"{CacheApp.Name}; fwd=uri-miss; fwd-status=200; stored", "a"), await client.FetchAsync("/a"));
    }

    [Fact]
    public async Task Callbacks_AtTheEnd_AreAllRunIfOneFails()
    {
        TaskCompletionSource disposed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.InMemory,
            builder => builder.Services.AddScoped(_ => new Scoped(disposed)),
            app => app.MapGet("/a", (HttpResponse response, Scoped scoped) =>
            {
                response.OnCompleted(static () => throw new InvalidOperationException("a callback"));
                return $"{scoped is not null}";
            }).WithStreamingCache(TimeSpan.FromMinutes(1)));
        using HttpClient client = app.CreateClient();
        Assert.Equal("True", (await client.FetchAsync("/a")).Body);
        await disposed.Task.WaitAsync(Patience.Limit);
    }

    [Fact]
    public async Task Endpoint_OfAGroupWithACache_MayHaveOptionsOfItsOwn()
    {
        int runs = 0;
        await using CacheApp app = await CacheApp.StartAsync(ServerKind.InMemory, app =>
        {
            RouteGroupBuilder group = app.MapGroup("/group").WithStreamingCache();
            group.MapGet("/a", () => $"{Interlocked.Increment(ref runs)}").WithStreamingCache(TimeSpan.FromMinutes(1));
            group.MapPost("/a", () => "posted");
        });
        using HttpClient client = app.CreateClient();
        Assert.Equal((200, $"{CacheApp.Name}; fwd=uri-miss; fwd-status=200; stored", "1"), await client.FetchAsync("/group/a"));
        Assert.Equal((200, $"{CacheApp.Name}; hit", "1"), await client.FetchAsync("/group/a"));
        using HttpResponseMessage post = await client.PostAsync("/group/a", null);
        Assert.Equal($"{CacheApp.Name}; fwd=method; fwd-status=200", post.CacheStatus);
    }

    private sealed class Scoped(TaskCompletionSource disposed) : IDisposable
    {
        public void Dispose() => disposed.TrySetResult();
    }
}
