using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>What clients of a web application see, over every transport.</summary>
public sealed class HttpTests
{
    private const int Large = 10 * 1024 * 1024;

    private static readonly Version s_http2 = new(2, 0);

    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Http1_GetAndPost_Work(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using HttpClient client = host.CreateClient();
        await AssertServesAsync(client, new Version(1, 1));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Http2_WithPriorKnowledge_Works(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, endPoint => endPoint.Protocols = HttpProtocols.Http2);
        using HttpClient client = host.CreateClient(s_http2);
        await AssertServesAsync(client, s_http2);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Https_OfHttp1_Works(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, KestrelHost.UseHttps);
        using HttpClient client = host.CreateClient();
        await AssertServesAsync(client, new Version(1, 1));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Https_OfHttp2_Works(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, KestrelHost.UseHttps);
        using HttpClient client = host.CreateClient(s_http2);
        await AssertServesAsync(client, s_http2);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task KeepAlive_OfManyRequests_UsesOneConnection(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind, application => application.MapGet("/id", (HttpContext context) => context.Connection.Id));
        using HttpClient client = host.CreateClient();
        HashSet<string> ids = [];
        for (int i = 0; i < 100; i++)
        {
            ids.Add(await client.GetStringAsync("/id").InTime());
        }

        Assert.Single(ids);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Pipelining_Of100Requests_AnswersInOrder(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind, application => application.MapGet("/number/{n}", (int n) => Results.Text($"<{n}>")));
        using Socket client = await ConnectAsync(host);
        StringBuilder requests = new();
        for (int i = 0; i < 100; i++)
        {
            requests.Append($"GET /number/{i} HTTP/1.1\r\nHost: h\r\n{(i == 99 ? "Connection: close\r\n" : "")}\r\n");
        }

        // Sent in pieces that end anywhere in a request.
        foreach (byte[] piece in Encoding.ASCII.GetBytes(requests.ToString()).Chunk(777))
        {
            await client.SendAllAsync(piece);
        }

        string answers = Encoding.ASCII.GetString(await client.ReceiveToEndAsync());
        int at = 0;
        for (int i = 0; i < 100; i++)
        {
            at = answers.IndexOf($"<{i}>", at, StringComparison.Ordinal);
            Assert.True(at >= 0, $"The answer to request {i} is missing or out of order.");
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ExpectContinue_OfPost_IsAnsweredBeforeTheBody(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket client = await ConnectAsync(host);
        await client.SendAllAsync("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"u8.ToArray());
        byte[] interim = "HTTP/1.1 100 Continue\r\n\r\n"u8.ToArray();
        Assert.Equal(interim, await client.ReceiveExactlyAsync(interim.Length));
        await client.SendAllAsync("body"u8.ToArray());
        string answer = Encoding.ASCII.GetString(await client.ReceiveToEndAsync());
        Assert.StartsWith("HTTP/1.1 200 OK", answer, StringComparison.Ordinal);
        Assert.Contains("body", answer, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task WebSocket_OfMessages_EchoesThem(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application =>
        {
            application.UseWebSockets();
            application.Run(EchoWebSocketAsync);
        });
        using ClientWebSocket client = new();
        await client.ConnectAsync(new UriBuilder(host.Address) { Scheme = "ws" }.Uri, CancellationToken.None).InTime();
        foreach (int size in new[] { 0, 1, 125, 126, 65_536, 1024 * 1024 })
        {
            byte[] sent = Payload.Of(size);
            Task sending = client.SendAsync(sent, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);
            Payload.AssertEqual(sent, await ReceiveMessageAsync(client));
            await sending.InTime();
        }

        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None).InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_Resets_RequestAborted(TransportKind kind)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            using CancellationTokenRegistration registration = context.RequestAborted.Register(aborted.SetResult);
            arrived.SetResult();
            await aborted.Task.InTime();
        }));
        Socket client = await ConnectAsync(host);
        await client.SendAllAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray());
        await arrived.Task.InTime();
        client.Reset();
        await aborted.Task.InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_AbortsRequest_ClientSeesReset(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            await context.Response.WriteAsync("begin");
            await context.Response.Body.FlushAsync();
            context.Abort();
        }));
        using Socket client = await ConnectAsync(host);
        await client.SendAllAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n"u8.ToArray());
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task LargeResponse_ToSlowClient_ArrivesWhole(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using HttpClient client = host.CreateClient();
        using HttpResponseMessage response = await client.GetAsync($"/bytes/{Large}", HttpCompletionOption.ResponseHeadersRead).InTime();
        await using Stream body = await response.Content.ReadAsStreamAsync().InTime();
        using IncrementalHash hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);

        // Small reads with other work in between: the server is far ahead and has to wait.
        byte[] buffer = new byte[64 * 1024];
        for (int count; (count = await body.ReadAsync(buffer).InTime()) != 0;)
        {
            hash.AppendData(buffer, 0, count);
            await Task.Yield();
        }

        Assert.Equal(SHA256.HashData(Payload.Of(Large)), hash.GetHashAndReset());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Stop_WithRequestInFlight_FinishesIt(TransportKind kind)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            arrived.SetResult();
            await release.Task.InTime();
            await context.Response.WriteAsync("finished");
        }));
        using HttpClient client = host.CreateClient();
        Task<string> request = client.GetStringAsync("/");
        await arrived.Task.InTime();
        Task stopping = host.StopAsync();
        release.SetResult();
        Assert.Equal("finished", await request.InTime());
        await stopping;
    }

    private static void Map(WebApplication application)
    {
        application.MapGet("/hello", () => "hello");
        application.MapGet("/bytes/{n}", (int n) => Results.Bytes(Payload.Of(n)));
        application.MapPost("/echo", async context =>
        {
            context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = null;

            // HttpClient sends the whole body before it reads.
            using MemoryStream body = new();
            await context.Request.BodyReader.CopyToAsync(body);
            body.Position = 0;
            await body.CopyToAsync(context.Response.Body);
        });
    }

    private static async Task AssertServesAsync(HttpClient client, Version version)
    {
        using HttpResponseMessage hello = await client.GetAsync("/hello").InTime();
        Assert.Equal(version, hello.Version);
        Assert.Equal("hello", await hello.Content.ReadAsStringAsync().InTime());

        foreach (int size in new[] { 0, 1, 4096, Large })
        {
            byte[] body = Payload.Of(size);
            using HttpRequestMessage post = new(HttpMethod.Post, "/echo")
            {
                Version = version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
                Content = new StreamContent(new MemoryStream(body)),
            };
            post.Headers.TransferEncodingChunked = version.Major == 1;
            using HttpResponseMessage echo = await client.SendAsync(post).InTime();
            Assert.Equal(HttpStatusCode.OK, echo.StatusCode);
            Payload.AssertEqual(body, await echo.Content.ReadAsByteArrayAsync().InTime());
        }

        string[] many = await Task.WhenAll(Enumerable.Range(0, 50).Select(_ => client.GetStringAsync("/hello"))).InTime();
        Assert.All(many, answer => Assert.Equal("hello", answer));
    }

    private static async Task EchoWebSocketAsync(HttpContext context)
    {
        using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
        byte[] buffer = new byte[10_000];
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(buffer.AsMemory(), context.RequestAborted);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, context.RequestAborted);
                return;
            }

            await socket.SendAsync(buffer.AsMemory(0, received.Count), received.MessageType, received.EndOfMessage, context.RequestAborted);
        }
    }

    private static async Task<byte[]> ReceiveMessageAsync(WebSocket socket)
    {
        using MemoryStream message = new();
        byte[] buffer = new byte[10_000];
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None).InTime();
            message.Write(buffer, 0, received.Count);
            if (received.EndOfMessage)
            {
                return message.ToArray();
            }
        }
    }

    private static async Task<Socket> ConnectAsync(KestrelHost host)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await client.ConnectAsync(IPAddress.Loopback, host.Address.Port).InTime();
        return client;
    }
}
