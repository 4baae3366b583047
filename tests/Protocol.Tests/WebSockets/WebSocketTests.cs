using System.Buffers.Binary;
using System.Net.Sockets;
using System.Net.WebSockets;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Http1;
using Protocol.Tests.Support;

namespace Protocol.Tests.WebSockets;

/// <summary>ClientWebSocket, and a client that writes its own frames.</summary>
public sealed class WebSocketTests
{
    private const int PingCount = 10_000;

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, WebSocketVariant> AllVariants => WebSocketHost.AllKinds;

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Echo_Of10000SmallMessages_ComesBackInOrder(TransportKind kind, WebSocketVariant variant)
    {
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, variant, WebSocketHost.EchoAsync);
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < PingCount; i++)
            {
                await client.SendWholeAsync(BitConverter.GetBytes(i));
            }
        });
        for (int i = 0; i < PingCount; i++)
        {
            Assert.Equal(i, BitConverter.ToInt32(await client.ReceiveWholeAsync(sizeof(int))));
        }

        await sending.InTime();
        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None).InTime();
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Echo_OfOneMessageAtATime_AnswersEachBeforeTheNext(TransportKind kind, WebSocketVariant variant)
    {
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, variant, WebSocketHost.EchoAsync);
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        for (int i = 0; i < 500; i++)
        {
            byte[] message = Payload.Of(i, i);
            await client.SendWholeAsync(message);
            Payload.AssertEqual(message, await client.ReceiveWholeAsync(i));
        }
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Messages_Of1MiBBothWaysAtOnce_ArriveWhole(TransportKind kind, WebSocketVariant variant)
    {
        const int Count = 4;
        const int Length = 1024 * 1024;
        TaskCompletionSource<Exception?> served = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, variant, async socket =>
        {
            try
            {
                await ExchangeAsync(socket, sentSeed: 100, receivedSeed: 200);
                served.SetResult(null);
            }
            catch (Exception exception)
            {
                served.SetResult(exception);
            }
        });
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        await ExchangeAsync(client, sentSeed: 200, receivedSeed: 100);
        Assert.Null(await served.Task.InTime());

        static async Task ExchangeAsync(WebSocket socket, int sentSeed, int receivedSeed)
        {
            Task sending = Task.Run(async () =>
            {
                for (int i = 0; i < Count; i++)
                {
                    await socket.SendWholeAsync(Payload.Of(Length, sentSeed + i));
                }
            });
            for (int i = 0; i < Count; i++)
            {
                Payload.AssertEqual(Payload.Of(Length, receivedSeed + i), await socket.ReceiveWholeAsync(Length));
            }

            await sending.InTime();
        }
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Close_ByTheClient_IsAnsweredWithItsStatus(TransportKind kind, WebSocketVariant variant)
    {
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, variant, WebSocketHost.EchoAsync);
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        await client.CloseAsync(WebSocketCloseStatus.PolicyViolation, "enough", CancellationToken.None).InTime();
        Assert.Equal(WebSocketState.Closed, client.State);
        Assert.Equal((WebSocketCloseStatus.PolicyViolation, "enough"), (client.CloseStatus, client.CloseStatusDescription));
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Close_ByTheServer_ReachesTheClientAndIsAnswered(TransportKind kind, WebSocketVariant variant)
    {
        TaskCompletionSource<WebSocketState> ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, variant, async socket =>
        {
            await socket.CloseAsync(WebSocketCloseStatus.EndpointUnavailable, "bye", CancellationToken.None).InTime();
            ended.SetResult(socket.State);
        });
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        ValueWebSocketReceiveResult received = await client.ReceiveAsync(new Memory<byte>(new byte[10]), CancellationToken.None).InTime();
        Assert.Equal(WebSocketMessageType.Close, received.MessageType);
        Assert.Equal((WebSocketCloseStatus.EndpointUnavailable, "bye"), (client.CloseStatus, client.CloseStatusDescription));
        await client.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None).InTime();
        Assert.Equal(WebSocketState.Closed, await ended.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Abort_ByTheClient_FailsTheServersReceive(TransportKind kind, WebSocketVariant variant)
    {
        TaskCompletionSource<Exception?> ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await WebSocketHost.StartAsync(
            kind, variant, async socket => ended.SetResult(await Record.ExceptionAsync(() => WebSocketHost.EchoAsync(socket))));
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        await client.SendWholeAsync([1]);
        await client.ReceiveWholeAsync(1);
        client.Abort();
        WebSocketException exception = Assert.IsType<WebSocketException>(await ended.Task.InTime());
        Assert.Equal(WebSocketError.ConnectionClosedPrematurely, exception.WebSocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(AllVariants))]
    public async Task Stop_WithAnOpenSocket_EchoGoesOnAndClosesInOrder(TransportKind kind, WebSocketVariant variant)
    {
        StopSignal stop = new();
        TaskCompletionSource<Exception?> served = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await WebSocketHost.StartAsync(
            kind,
            variant,
            async socket => served.SetResult(await Record.ExceptionAsync(() => WebSocketHost.EchoAsync(socket))),
            stop.Watch);
        using ClientWebSocket client = await WebSocketHost.ConnectAsync(host, variant);
        await WebSocketHost.AssertEchoesAsync(client);

        Task stopping = host.StopAsync();
        await stop.Asked.InTime();

        await WebSocketHost.AssertEchoesAsync(client);
        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None).InTime();
        Assert.Equal((WebSocketCloseStatus.NormalClosure, "done"), (client.CloseStatus, client.CloseStatusDescription));
        Assert.Null(await served.Task.InTime());
        await stopping;
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Pings_10000InOneGo_AreAllAnsweredInOrder(TransportKind kind)
    {
        const int HeadBytes = 2;
        const int MaskBytes = 4;
        await using KestrelHost host = await WebSocketHost.StartAsync(kind, WebSocketVariant.Plain, WebSocketHost.EchoAsync);
        using Socket client = await RawHttp.ConnectAsync(host);
        await client.SendTextAsync(
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 101 ", await client.ReceiveHeadAsync(), StringComparison.Ordinal);

        // RFC 6455 5.2: final and opcode, mask bit and length, a mask (of zeros: the data stays what it is), the data.
        byte[] pings = new byte[PingCount * (HeadBytes + MaskBytes + sizeof(int))];
        byte[] pongs = new byte[PingCount * (HeadBytes + sizeof(int))];
        for (int i = 0; i < PingCount; i++)
        {
            Span<byte> ping = pings.AsSpan(i * (HeadBytes + MaskBytes + sizeof(int)));
            ping[0] = 0x89;
            ping[1] = 0x80 | sizeof(int);
            BinaryPrimitives.WriteInt32BigEndian(ping[(HeadBytes + MaskBytes)..], i);
            Span<byte> pong = pongs.AsSpan(i * (HeadBytes + sizeof(int)));
            pong[0] = 0x8A;
            pong[1] = sizeof(int);
            BinaryPrimitives.WriteInt32BigEndian(pong[HeadBytes..], i);
        }

        Task sending = client.SendAllAsync(pings);
        Payload.AssertEqual(pongs, await client.ReceiveExactlyAsync(pongs.Length));
        await sending.InTime();
    }
}
