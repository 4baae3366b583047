namespace IoUringCache.Caching.Tests;

/// <summary>End points whose time is over, that fail at their end, or that two calls put a cache in front of.</summary>
public sealed class EndpointEndTests
{
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
}
