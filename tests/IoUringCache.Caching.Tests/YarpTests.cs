using System.Net.WebSockets;
using Yarp.ReverseProxy.Configuration;

namespace IoUringCache.Caching.Tests;

/// <summary>The cache in front of YARP.</summary>
public sealed class YarpTests
{
    private const int Clients = 50;

    public static TheoryData<ServerKind> Servers => EndpointTests.Servers;

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task ManyRequests_AskTheDestinationOnceAndHaveEachPieceAsItComes(ServerKind server)
    {
        (TaskCompletionSource first, TaskCompletionSource second) = (new(), new());
        await using ScriptedOrigin destination = new(async exchange =>
        {
            await first.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n3\r\none\r\n");
            await second.Task;
            await exchange.SendAsync("3\r\ntwo\r\n0\r\n\r\n");
        });
        await using CacheApp app = await StartAsync(server, destination.Url);
        using HttpClient client = app.CreateClient();
        using HttpClient leaver = app.CreateClient();

        Task<HttpResponseMessage> leaving = leaver.BeginAsync("/a?b=c");
        await Eventually.TrueAsync(() => app.Engine.Metrics.Misses == 1, "the first has asked");
        Task<HttpResponseMessage>[] asked = [.. Enumerable.Range(0, Clients).Select(_ => client.BeginAsync("/a?b=c"))];
        await Eventually.TrueAsync(() => app.Engine.Metrics.Joins == Clients, "all have joined");
        first.SetResult();
        (await leaving).Dispose();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            Assert.Equal("one", await (await (await task).Content.ReadAsStreamAsync()).ReadTextAsync(3));
        }

        second.SetResult();
        foreach (Task<HttpResponseMessage> task in asked)
        {
            using HttpResponseMessage response = await task;
            Assert.Equal("two", await response.ReadRestAsync());
        }

        Assert.Equal((200, $"{CacheApp.Name}; hit", "onetwo"), await client.FetchAsync("/a?b=c"));
        Assert.Equal("/a?b=c", Assert.Single(destination.Exchanges).Target);
    }

    [Theory]
    [MemberData(nameof(Servers))]
    public async Task Destination_ThatDiesInTheMiddle_CutsAllVisibly(ServerKind server)
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin destination = new(async exchange =>
        {
            await go.Task;
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\none");
            exchange.Reset();
        });
        await using CacheApp app = await StartAsync(server, destination.Url);
        using HttpClient client = app.CreateClient();
        Task<(int, string, string)>[] asked = [.. Enumerable.Range(0, 5).Select(_ => client.FetchAsync("/a"))];
        await Eventually.TrueAsync(() => app.Engine.Metrics.Joins == 4, "all have joined");
        go.SetResult();
        foreach (Task<(int, string, string)> task in asked)
        {
            await Assert.ThrowsAnyAsync<Exception>(() => task);
        }

        Assert.Empty(app.Cache.Find(EndpointTests.KeyOf(app, "/a")));
    }

    [Fact]
    public async Task Destination_ThatIsDown_IsAnErrorForAllAndNotStored()
    {
        await using ScriptedOrigin destination = new(exchange => exchange.AnswerAsync("never"), isListening: false);
        await using CacheApp app = await StartAsync(ServerKind.Sockets, destination.Url);
        using HttpClient client = app.CreateClient();
        Assert.Equal(502, (await client.FetchAsync("/a")).Status);
    }

    [Fact]
    public async Task Post_GoesThroughWithItsBody()
    {
        await using ScriptedOrigin destination = new(async exchange => await exchange.AnswerAsync($"{exchange.Method} {await exchange.ReadBodyAsync(4)}"));
        await using CacheApp app = await StartAsync(ServerKind.Sockets, destination.Url);
        using HttpClient client = app.CreateClient();
        using HttpResponseMessage response = await client.PostAsync("/a", new StringContent("body"));
        Assert.Equal("POST body", await response.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task WebSocket_GoesThrough()
    {
        await using WebApplication backend = WebApplication.CreateSlimBuilder().Build();
        backend.Urls.Add("http://127.0.0.1:0");
        backend.UseWebSockets();
        backend.Map("/ws", async context =>
        {
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            await socket.SendAsync("hello"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
        });
        await backend.StartAsync().WaitAsync(Patience.Limit);
        await using CacheApp app = await StartAsync(ServerKind.IoUring, backend.Urls.First());
        using ClientWebSocket client = new();
        using CancellationTokenSource patience = new(Patience.Limit);
        await client.ConnectAsync(new UriBuilder(app.Url) { Scheme = "ws", Path = "/ws" }.Uri, patience.Token);
        byte[] bytes = new byte[16];
        WebSocketReceiveResult received = await client.ReceiveAsync(bytes, patience.Token);
        Assert.Equal("hello", System.Text.Encoding.ASCII.GetString(bytes, 0, received.Count));
    }

    private static Task<CacheApp> StartAsync(ServerKind server, string destination) => CacheApp.StartAsync(
        server,
        builder => builder.Services.AddReverseProxy().LoadFromMemory(
            [new RouteConfig { RouteId = "all", ClusterId = "one", Match = new() { Path = "/{**path}" } }],
            [
                new ClusterConfig
                {
                    ClusterId = "one",
                    Destinations = new Dictionary<string, DestinationConfig> { ["only"] = new() { Address = destination } },
                },
            ]),
        app => app.MapReverseProxy().WithStreamingCache());
}
