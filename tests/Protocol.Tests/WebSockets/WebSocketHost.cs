using System.Net.WebSockets;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Protocol.Tests.Support;

namespace Protocol.Tests.WebSockets;

/// <summary>A server of WebSockets, and what both sides do with one.</summary>
internal static class WebSocketHost
{
    /// <summary>Lives as long as the process: a WebSocket over HTTP/2 is a stream on a connection of the invoker's.</summary>
    private static readonly HttpMessageInvoker s_invoker = new(new SocketsHttpHandler { SslOptions = { RemoteCertificateValidationCallback = (_, _, _, _) => true } });

    internal static TheoryData<TransportKind, WebSocketVariant> AllKinds
    {
        get
        {
            TheoryData<TransportKind, WebSocketVariant> data = [];
            foreach (TransportKind kind in Enum.GetValues<TransportKind>())
            {
                foreach (WebSocketVariant variant in Enum.GetValues<WebSocketVariant>())
                {
                    data.Add(kind, variant);
                }
            }

            return data;
        }
    }

    /// <summary>Every request becomes a WebSocket that <paramref name="serve"/> has until its task ends.</summary>
    internal static Task<KestrelHost> StartAsync(
        TransportKind kind, WebSocketVariant variant, Func<WebSocket, Task> serve, Action<ListenOptions>? listen = null) => KestrelHost.StartAsync(
        kind,
        application =>
        {
            application.UseWebSockets();
            application.Run(async context =>
            {
                using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
                await serve(socket);
            });
        },
        endPoint =>
        {
            listen?.Invoke(endPoint);
            endPoint.Protocols = variant == WebSocketVariant.Http2 ? HttpProtocols.Http2 : HttpProtocols.Http1;
            if (variant == WebSocketVariant.Secure)
            {
                endPoint.UseHttps(Certificates.Localhost);
            }
        });

    internal static async Task<ClientWebSocket> ConnectAsync(KestrelHost host, WebSocketVariant variant)
    {
        ClientWebSocket client = new();
        if (variant == WebSocketVariant.Http2)
        {
            client.Options.HttpVersion = new Version(2, 0);
            client.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        }

        UriBuilder address = new(host.Address) { Scheme = variant == WebSocketVariant.Secure ? "wss" : "ws" };
        await client.ConnectAsync(address.Uri, s_invoker, CancellationToken.None).InTime();
        return client;
    }

    /// <summary>Sends back whatever comes, piece by piece, and closes when the client does.</summary>
    internal static async Task EchoAsync(WebSocket socket)
    {
        byte[] buffer = new byte[10_000];
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None).InTime();
            if (received.MessageType == WebSocketMessageType.Close)
            {
                await socket.CloseAsync(socket.CloseStatus!.Value, socket.CloseStatusDescription, CancellationToken.None).InTime();
                return;
            }

            await socket.SendAsync(buffer.AsMemory(0, received.Count), received.MessageType, received.EndOfMessage, CancellationToken.None).InTime();
        }
    }

    /// <summary>Sends messages of some lengths and compares what comes back.</summary>
    internal static async Task AssertEchoesAsync(WebSocket client)
    {
        foreach (int length in new[] { 1, 1000, 100_000 })
        {
            byte[] message = Payload.Of(length, length);
            Task sending = client.SendWholeAsync(message);
            Payload.AssertEqual(message, await client.ReceiveWholeAsync(length));
            await sending;
        }
    }

    internal static Task SendWholeAsync(this WebSocket socket, byte[] message) =>
        socket.SendAsync(message, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None).InTime();

    /// <summary>The next message, which must have as many bytes.</summary>
    internal static async Task<byte[]> ReceiveWholeAsync(this WebSocket socket, int length)
    {
        byte[] message = new byte[length];
        int at = 0;
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(message.AsMemory(at), CancellationToken.None).InTime();
            Assert.Equal(WebSocketMessageType.Binary, received.MessageType);
            at += received.Count;
            if (received.EndOfMessage)
            {
                Assert.Equal(length, at);
                return message;
            }

            Assert.True(at < length, $"The message is longer than {length} bytes.");
        }
    }
}
