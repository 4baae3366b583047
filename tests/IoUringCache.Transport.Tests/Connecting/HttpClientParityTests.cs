using System.IO.Compression;
using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>An HTTP client by <c>UseIoUring</c> and without it: the same results.</summary>
public sealed class HttpClientParityTests
{
    private static readonly int[] s_bodies = [0, 1, 1_000_000];

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, int> Bodies => Transports.AllWith(s_bodies);

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Get_OfABody_GivesIt(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapGet("/", () => Results.Bytes(body)));

        for (int i = 0; i < 3; i++)
        {
            Payload.AssertEqual(body, await scene.Client.GetByteArrayAsync("/").InTime());
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_ChunkedResponse_GivesAllChunks(TransportKind kind)
    {
        byte[] chunk = Payload.Of(10_000);
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapGet("/", async (HttpContext context) =>
        {
            for (int i = 0; i < 20; i++)
            {
                await context.Response.Body.WriteAsync(chunk);
                await context.Response.Body.FlushAsync();
            }
        }));

        using HttpResponseMessage response = await scene.Client.GetAsync("/").InTime();

        Assert.True(response.Headers.TransferEncodingChunked);
        Payload.AssertEqual([.. Enumerable.Repeat(chunk, 20).SelectMany(bytes => bytes)], await response.Content.ReadAsByteArrayAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Post_WithLength_IsReadWhole(TransportKind kind, int length)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, MapEcho);
        byte[] body = Payload.Of(length);

        using HttpResponseMessage response = await scene.Client.PostAsync("/", new ByteArrayContent(body)).InTime();

        Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Post_Chunked_IsReadWhole(TransportKind kind, int length)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, MapEcho);
        byte[] body = Payload.Of(length);
        using HttpRequestMessage request = new(HttpMethod.Post, "/") { Content = new StreamContent(new MemoryStream(body)) };
        request.Headers.TransferEncodingChunked = true;

        using HttpResponseMessage response = await scene.Client.SendAsync(request).InTime();

        Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_Expects100Continue_WaitsForIt(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, MapEcho, configure: handler => handler.Expect100ContinueTimeout = Deadline.Limit * 2);
        byte[] body = Payload.Of(10_000);
        using HttpRequestMessage request = new(HttpMethod.Post, "/") { Content = new ByteArrayContent(body) };
        request.Headers.ExpectContinue = true;

        using HttpResponseMessage response = await scene.Client.SendAsync(request).InTime();

        Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_ServerAnswersEarly_GivesTheAnswer(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapPost("/", () => Results.StatusCode(413)));

        using HttpResponseMessage response = await scene.Client.PostAsync("/", new ByteArrayContent(Payload.Of(1_000_000))).InTime();
        using HttpResponseMessage next = await scene.Client.PostAsync("/", new ByteArrayContent([1])).InTime();

        Assert.Equal((HttpStatusCode.RequestEntityTooLarge, HttpStatusCode.RequestEntityTooLarge), (response.StatusCode, next.StatusCode));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_ServerClosedTheIdleConnection_UsesANewOne(TransportKind kind)
    {
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        await using HttpScene scene = HttpScene.To(kind, new Uri($"http://{listener.LocalEndPoint}"));
        for (int i = 0; i < 5; i++)
        {
            Task<string> answer = scene.Client.GetStringAsync($"/{i}");
            using Socket server = await listener.AcceptAsync().InTime();
            string request = await ReceiveHeadersAsync(server);
            Assert.StartsWith($"GET /{i} HTTP/1.1\r\n", request, StringComparison.Ordinal);
            await server.SendAllAsync(Encoding.ASCII.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{i}"));
            Assert.Equal($"{i}", await answer.InTime());
        }
    }

    /// <summary>A request with a body is not sent again, so the client must see the end before it uses the connection.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_ServerClosedTheIdleConnection_UsesANewOne(TransportKind kind)
    {
        const int ReadFin = 6;
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        await using HttpScene scene = HttpScene.To(kind, new Uri($"http://{listener.LocalEndPoint}"));
        for (int i = 1; i <= 5; i++)
        {
            Task<HttpResponseMessage> answer = scene.Client.PostAsync("/", new ByteArrayContent([(byte)'x']));
            using (Socket server = await listener.AcceptAsync().InTime())
            {
                await ReceiveHeadersAsync(server);
                await server.ReceiveExactlyAsync(1);
                await server.SendAllAsync("HTTP/1.1 204 No Content\r\n\r\n"u8.ToArray());
                (await answer.InTime()).Dispose();
            }

            if (kind != TransportKind.Sockets)
            {
                await Deadline.UntilAsync(() => scene.Log.Entries.Count(entry => entry.Id.Id == ReadFin) == i, () => "FIN was not seen.");
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_ServerResetsInTheResponse_Fails(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapGet("/", async (HttpContext context) =>
        {
            await context.Response.WriteAsync("part");
            await context.Response.Body.FlushAsync();
            context.Abort();
        }));

        HttpRequestException failure = await Assert.ThrowsAsync<HttpRequestException>(() => scene.Client.GetStringAsync("/").InTime());

        Assert.IsAssignableFrom<IOException>(failure.InnerException);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_NobodyListens_IsAConnectionError(TransportKind kind)
    {
        using Socket bound = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using HttpScene scene = HttpScene.To(kind, new Uri($"http://{bound.LocalEndPoint}"));

        HttpRequestException failure = await Assert.ThrowsAsync<HttpRequestException>(() => scene.Client.GetStringAsync("/").InTime());

        Assert.Equal(HttpRequestError.ConnectionError, failure.HttpRequestError);
        Assert.Equal(SocketError.ConnectionRefused, Assert.IsType<SocketException>(failure.InnerException).SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_TwoHundredAtOnce_EachHasItsAnswer(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapGet("/{id}", (int id) => $"{id}"));
        for (int round = 0; round < 3; round++)
        {
            string[] answers = await Task.WhenAll(Enumerable.Range(0, 200).Select(id => scene.Client.GetStringAsync($"/{id}"))).InTime();
            Assert.Equal(Enumerable.Range(0, 200).Select(id => $"{id}"), answers);
        }
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Http2_WithPriorKnowledge_Works(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        await using HttpScene scene = await HttpScene.StartAsync(
            kind, MapEcho, endPoint => endPoint.Protocols = HttpProtocols.Http2, version: HttpVersion.Version20);

        byte[][] answers = await Task.WhenAll(Enumerable.Range(0, 10).Select(async _ =>
        {
            using HttpResponseMessage response = await scene.Client.PostAsync("/", new ByteArrayContent(body));
            Assert.Equal(HttpVersion.Version20, response.Version);
            return await response.Content.ReadAsByteArrayAsync();
        })).InTime();

        Assert.All(answers, answer => Payload.AssertEqual(body, answer));
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Tls_OfABody_Works(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        await using HttpScene scene = await HttpScene.StartAsync(kind, MapEcho, KestrelHost.UseHttps);

        for (int i = 0; i < 3; i++)
        {
            using HttpResponseMessage response = await scene.Client.PostAsync("/", new ByteArrayContent(body)).InTime();
            Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_Redirect_IsFollowed(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, app =>
        {
            app.MapGet("/", () => Results.Redirect("/there"));
            app.MapGet("/there", () => "there");
        });

        Assert.Equal("there", await scene.Client.GetStringAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_Compressed_IsDecompressed(TransportKind kind)
    {
        byte[] body = [.. Enumerable.Repeat((byte)'a', 100_000)];
        await using HttpScene scene = await HttpScene.StartAsync(
            kind,
            app => app.MapGet("/", async (HttpContext context) =>
            {
                context.Response.Headers.ContentEncoding = "gzip";
                await using GZipStream gzip = new(context.Response.Body, CompressionLevel.Fastest);
                await gzip.WriteAsync(body);
            }),
            configure: handler => handler.AutomaticDecompression = DecompressionMethods.All);

        Payload.AssertEqual(body, await scene.Client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Get_Cancelled_AbortsTheRequestAndTheNextOneWorks(TransportKind kind)
    {
        TaskCompletionSource begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using HttpScene scene = await HttpScene.StartAsync(kind, app =>
        {
            app.MapGet("/", async (HttpContext context) =>
            {
                context.RequestAborted.Register(aborted.SetResult);
                begun.SetResult();
                await aborted.Task;
            });
            app.MapGet("/next", () => "next");
        });
        using CancellationTokenSource source = new();
        Task<string> request = scene.Client.GetStringAsync("/", source.Token);
        await begun.Task.InTime();

        await source.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => request.InTime());
        await aborted.Task.InTime();
        Assert.Equal("next", await scene.Client.GetStringAsync("/next").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Send_Synchronous_Works(TransportKind kind)
    {
        await using HttpScene scene = await HttpScene.StartAsync(kind, app => app.MapGet("/", () => "answer"));
        Task<string> call = Task.Factory.StartNew(
            () =>
            {
                using HttpResponseMessage response = scene.Client.Send(new HttpRequestMessage(HttpMethod.Get, "/"));
                using StreamReader reader = new(response.Content.ReadAsStream());
                return reader.ReadToEnd();
            },
            TaskCreationOptions.LongRunning);

        Assert.Equal("answer", await call.InTime());
    }

    /// <summary>Server and client have the same loop, the only one.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Proxy_OnOneLoop_AnswersTwoHundredAtOnce(TransportKind kind)
    {
        await using HttpScene origin = await HttpScene.StartAsync(kind, app => app.MapGet("/{id}", (int id) => $"{id}"));
        await using KestrelHost proxy = await KestrelHost.StartAsync(
            kind, app => app.MapGet("/{id}", (int id) => origin.Client.GetStringAsync($"/{id}")));
        using HttpClient client = proxy.CreateClient();
        for (int round = 0; round < 3; round++)
        {
            string[] answers = await Task.WhenAll(Enumerable.Range(0, 200).Select(id => client.GetStringAsync($"/{id}"))).InTime();
            Assert.Equal(Enumerable.Range(0, 200).Select(id => $"{id}"), answers);
        }
    }

    /// <summary>Handlers that block wait for answers that come by their own loop; with Inline that is not allowed.</summary>
    [Theory]
    [InlineData(TransportKind.Adaptive)]
    [InlineData(TransportKind.ThreadPool)]
    [InlineData(TransportKind.Sockets)]
    public async Task Proxy_BlocksInItsHandler_Answers(TransportKind kind)
    {
        await using HttpScene origin = await HttpScene.StartAsync(kind, app => app.MapGet("/{id}", (int id) => $"{id}"));
        await using KestrelHost proxy = await KestrelHost.StartAsync(kind, app => app.MapGet("/{id}", (int id) =>
        {
            using HttpResponseMessage response = origin.Client.Send(new HttpRequestMessage(HttpMethod.Get, $"/{id}"));
            using StreamReader reader = new(response.Content.ReadAsStream());
            return reader.ReadToEnd();
        }));
        using HttpClient client = proxy.CreateClient();

        string[] answers = await Task.WhenAll(Enumerable.Range(0, 10).Select(id => client.GetStringAsync($"/{id}"))).InTime();

        Assert.Equal(Enumerable.Range(0, 10).Select(id => $"{id}"), answers);
    }

    private static void MapEcho(WebApplication app) => app.MapPost("/", async (HttpContext context) =>
    {
        using MemoryStream body = new();
        await context.Request.Body.CopyToAsync(body);
        await context.Response.Body.WriteAsync(body.ToArray());
    });

    private static async Task<string> ReceiveHeadersAsync(Socket server)
    {
        StringBuilder received = new();
        while (!received.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            received.Append((char)(await server.ReceiveExactlyAsync(1))[0]);
        }

        return received.ToString();
    }
}
