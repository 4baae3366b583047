using System.IO.Pipelines;
using System.Net;
using System.Net.WebSockets;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Protocol.Tests.Http2;
using Protocol.Tests.Streaming;
using Protocol.Tests.Support;
using Protocol.Tests.WebSockets;
using Yarp.ReverseProxy.Forwarder;

namespace Protocol.Tests.Forwarding;

/// <summary>YARP's forwarder between a client and an origin, both served by the transport.</summary>
public sealed class ForwardingTests
{
    private const int Large = 1024 * 1024;

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, bool> Stops => Transports.AllWith(true, false);

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetAndPost_OverHttp1_ArriveWhole(TransportKind kind)
    {
        await using KestrelHost origin = await KestrelHost.StartAsync(kind, WebEndpoints.Map);
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version11);
        using HttpClient client = proxy.CreateClient();
        await AssertForwardsAsync(client);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task GetAndPost_OverHttp2OnBothHops_ArriveWhole(TransportKind kind)
    {
        await using KestrelHost origin = await Http2Hosts.StartAsync(kind, secure: false);
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version20);
        using HttpClient client = proxy.CreateClient(HttpVersion.Version20);
        await AssertForwardsAsync(client);
        Assert.Equal("HTTP/2", await client.GetStringAsync("/protocol").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Post_ThatIsWrittenPieceByPiece_IsForwardedPieceByPiece(TransportKind kind)
    {
        await using KestrelHost origin = await Http2Hosts.StartAsync(kind, secure: false, MapPieces);
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version20);
        using HttpClient client = proxy.CreateClient(HttpVersion.Version20);

        // By this media type the forwarder knows that every piece has to go on at once.
        using DuplexContent content = new(GrpcEndpoints.MediaType);
        using HttpRequestMessage request = new(HttpMethod.Post, "/pieces")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = content,
        };
        Task<HttpResponseMessage> answering = client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        Stream sending = await content.StreamAsync();

        // The forwarder sends the head of the answer with the first piece of its body.
        await SendPieceAsync(1);
        using HttpResponseMessage response = await answering.InTime();
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        await using Stream receiving = await response.Content.ReadAsStreamAsync().InTime();
        for (int i = 1; i <= 100; i++)
        {
            byte[] echo = new byte[PieceOf(i).Length];
            await receiving.ReadExactlyAsync(echo).InTime();
            Payload.AssertEqual(PieceOf(i), echo);
            await SendPieceAsync(i + 1);
        }

        content.Finish();
        using MemoryStream rest = new();
        await receiving.CopyToAsync(rest).InTime();
        Payload.AssertEqual(PieceOf(101), rest.ToArray());

        static byte[] PieceOf(int i) => Payload.Of(i * 13, i);

        async Task SendPieceAsync(int i)
        {
            await sending.WriteAsync(PieceOf(i)).InTime();
            await sending.FlushAsync().InTime();
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task WebSocket_ThroughTheProxy_IsEchoedAndClosed(TransportKind kind)
    {
        await using KestrelHost origin = await WebSocketHost.StartAsync(kind, WebSocketVariant.Plain, WebSocketHost.EchoAsync);
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version11);
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(proxy, WebSocketVariant.Plain);
        foreach (int length in new[] { 1, 1000, 100_000, Large })
        {
            byte[] message = Payload.Of(length);
            Task sending = client.SendWholeAsync(message);
            Payload.AssertEqual(message, await client.ReceiveWholeAsync(length));
            await sending;
        }

        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None).InTime();
        Assert.Equal((WebSocketCloseStatus.NormalClosure, "done"), (client.CloseStatus, client.CloseStatusDescription));
    }

    [Theory]
    [MemberData(nameof(Stops))]
    public async Task WebSocket_ThroughTheProxyAtAStop_GoesOnAndClosesInOrder(TransportKind kind, bool stopsOrigin)
    {
        StopSignal stop = new();
        await using KestrelHost origin = await WebSocketHost.StartAsync(
            kind, WebSocketVariant.Plain, WebSocketHost.EchoAsync, endPoint => WatchIf(stopsOrigin, endPoint));
        await using KestrelHost proxy = await StartProxyAsync(
            kind, origin, HttpVersion.Version11, endPoint => WatchIf(!stopsOrigin, endPoint));
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(proxy, WebSocketVariant.Plain);
        await WebSocketHost.AssertEchoesAsync(client);

        Task stopping = (stopsOrigin ? origin : proxy).StopAsync();
        await stop.Asked.InTime();

        await WebSocketHost.AssertEchoesAsync(client);
        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None).InTime();
        Assert.Equal((WebSocketCloseStatus.NormalClosure, "done"), (client.CloseStatus, client.CloseStatusDescription));
        await stopping;

        void WatchIf(bool stops, ListenOptions endPoint)
        {
            if (stops)
            {
                stop.Watch(endPoint);
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ThatLeaves_CancelsTheOriginsRequest(TransportKind kind)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost origin = await KestrelHost.StartAsync(kind, application => application.MapGet("/wait", async (HttpContext context) =>
        {
            using CancellationTokenRegistration registration = context.RequestAborted.Register(aborted.SetResult);
            arrived.SetResult();
            await aborted.Task.InTime();
        }));
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version11);
        using HttpClient client = proxy.CreateClient();
        using CancellationTokenSource leaving = new();
        Task<string> waiting = client.GetStringAsync("/wait", leaving.Token);
        await arrived.Task.InTime();
        await leaving.CancelAsync();
        await aborted.Task.InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Origin_ThatResets_EndsTheClientsResponse(TransportKind kind)
    {
        await using KestrelHost origin = await KestrelHost.StartAsync(kind, application => application.MapGet("/break", async (HttpContext context) =>
        {
            await context.Response.BodyWriter.WriteAsync(Payload.Of(1000));
            context.Abort();
        }));
        await using KestrelHost proxy = await StartProxyAsync(kind, origin, HttpVersion.Version11);
        using HttpClient client = proxy.CreateClient();
        await Assert.ThrowsAsync<HttpRequestException>(() => GetBrokenAsync(client));

        // Whether the head had come through before the reset is a race that the proxy may lose, and then says so.
        static async Task GetBrokenAsync(HttpClient client)
        {
            using HttpResponseMessage response = await client.GetAsync("/break").InTime();
            Assert.Equal(HttpStatusCode.BadGateway, response.StatusCode);
            throw new HttpRequestException("The proxy saw the reset first.");
        }
    }

    private static async Task<KestrelHost> StartProxyAsync(
        TransportKind kind, KestrelHost origin, Version version, Action<ListenOptions>? listen = null)
    {
        ForwarderRequestConfig config = new() { Version = version, VersionPolicy = HttpVersionPolicy.RequestVersionExact };
        HttpMessageInvoker invoker = new(new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false });
        return await KestrelHost.StartAsync(
            kind,
            application =>
            {
                IHttpForwarder forwarder = application.Services.GetRequiredService<IHttpForwarder>();
                application.Lifetime.ApplicationStopped.Register(invoker.Dispose);
                application.Run(async context => await forwarder.SendAsync(context, origin.Address.ToString(), invoker, config));
            },
            endPoint =>
            {
                listen?.Invoke(endPoint);
                endPoint.Protocols = version.Major == 2 ? HttpProtocols.Http2 : HttpProtocols.Http1;
            },
            host: builder => builder.ConfigureServices(services => services.AddHttpForwarder()));
    }

    private static async Task AssertForwardsAsync(HttpClient client)
    {
        byte[] body = Payload.Of(Large);
        Payload.AssertEqual(body, await client.GetByteArrayAsync($"/bytes/{Large}").InTime());
        Payload.AssertEqual(body, await client.GetByteArrayAsync($"/chunks/{Large}/7001").InTime());
        using StreamContent content = new(new MemoryStream(body));
        using HttpResponseMessage digest = await client.PostAsync("/digest", content).InTime();
        Assert.Equal(WebEndpoints.DigestOf(body), await digest.Content.ReadAsStringAsync().InTime());
        byte[][] many = await Task.WhenAll(Enumerable.Range(0, 50).Select(i => client.GetByteArrayAsync($"/bytes/{i * 100}"))).InTime();
        for (int i = 0; i < many.Length; i++)
        {
            Payload.AssertEqual(Payload.Of(i * 100), many[i]);
        }
    }

    /// <summary>Answers each piece as soon as it has come.</summary>
    private static void MapPieces(WebApplication application) => application.MapPost("/pieces", async (HttpContext context) =>
    {
        await context.Response.BodyWriter.FlushAsync();
        while (true)
        {
            ReadResult read = await context.Request.BodyReader.ReadAsync(context.RequestAborted);
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                await context.Response.BodyWriter.WriteAsync(segment, context.RequestAborted);
            }

            context.Request.BodyReader.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return;
            }
        }
    });
}
