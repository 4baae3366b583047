using System.Net;
using System.Net.WebSockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Tests.Serving;

/// <summary>Connections that change to another protocol, whose bytes are the origin's and the client's alone.</summary>
public sealed class UpgradeTests
{
    internal const string Asked = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\nCookie: id=1\r\n";
    internal const string Switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: xyz\r\nContent-Length: 0\r\n\r\n";

    public static TheoryData<string> EachTransport => new() { TestService.Transport, "Sockets" };

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task Bytes_GoBothWays_UntilTheClientEnds(string transport)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            // Some come in one piece with the head.
            await exchange.SendAsync(Switched + "hello");
            Assert.Equal("ping", await exchange.ReadBodyAsync(4));
            await exchange.SendAsync("pong");
            Assert.Equal("last", await exchange.ReadBodyAsync(4));
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using (RawClient client = await service.GetAsync("/object/a?b", Asked))
        {
            RawResponse head = await client.ReadHeadAsync();
            Assert.Equal(
                (101, "websocket", "Upgrade", "xyz", "CachingService; fwd=bypass; fwd-status=101; detail=upgrade"),
                (head.Status, head["Upgrade"], head["Connection"], head["Sec-WebSocket-Accept"], head.CacheStatus));
            Assert.Null(head["Content-Length"]);
            Assert.Equal("hello", await client.ReadExactlyAsync(5));
            await client.SendRawAsync("ping");
            Assert.Equal("pong", await client.ReadExactlyAsync(4));
            await client.SendRawAsync("last");
        }

        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin sees the end");
        OriginExchange asked = Assert.Single(origin.Exchanges);
        Assert.Equal(
            ("GET /a?b HTTP/1.1", "Upgrade", "websocket", "abc", "id=1", "127.0.0.1"),
            (asked.RequestLine, asked.Field("Connection"), asked.Field("Upgrade"), asked.Field("Sec-WebSocket-Key"), asked.Field("Cookie"), asked.Field("X-Forwarded-For")));
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task OriginThatEnds_EndsItForTheClientAfterItsLastByte(string transport)
    {
        string last = new('x', 300_000);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Switched + last);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using RawClient client = await service.GetAsync("/object/a", Asked);
        Assert.Equal(101, (await client.ReadHeadAsync()).Status);

        Assert.Equal(last, await client.ReadToCloseAsync());
        Assert.False(client.IsReset);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Connection_WithoutAByteForTooLong_IsCut()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Switched);
            Assert.Equal("ping", await exchange.ReadBodyAsync(4));
            await exchange.SendAsync("pong");
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:UpgradeIdleTimeout=60s");
        await using RawClient client = await service.GetAsync("/object/a", Asked);
        await client.ReadHeadAsync();
        service.Time.Advance(TimeSpan.FromSeconds(40));
        await client.SendRawAsync("ping");
        Assert.Equal("pong", await client.ReadExactlyAsync(4));

        // A byte in one direction is one for both.
        service.Time.Advance(TimeSpan.FromSeconds(40));
        Assert.Equal((0, 1), (service.Host.Metrics.ActivePasses, service.Host.Metrics.ActiveUpgrades));
        service.Time.Advance(TimeSpan.FromSeconds(20));

        Assert.Equal("", await client.ReadToCloseAsync());
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin sees the end");
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Bytes_GoBothWays_ToAnOriginBehindTls()
    {
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(certificate, static async context =>
        {
            context.Response.Headers.Upgrade = "websocket";
            await using Stream stream = await context.Features.GetRequiredFeature<IHttpUpgradeFeature>().UpgradeAsync();
            byte[] bytes = new byte[4];
            await stream.ReadExactlyAsync(bytes, context.RequestAborted);
            await stream.WriteAsync(bytes, context.RequestAborted);
        });
        await using TestService service = await TestService.StartAsync(origin.NamedUrl, authority.Option);
        await using RawClient client = await service.GetAsync("/object/a", Asked);
        Assert.Equal(101, (await client.ReadHeadAsync()).Status);

        await client.SendRawAsync("ping");

        Assert.Equal("ping", await client.ReadToCloseAsync());
        Assert.Equal("GET /a HTTP/1.1", Assert.Single(origin.Requests).Line);
        await service.IsAtRestAsync();
    }

    /// <summary>As browsers do where a connection of HTTP/2 is there already (RFC 8441).</summary>
    [Fact]
    public async Task Stream_OfHttp2_IsAConnectionOfHttp1AtTheOrigin()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Switched);

            // A masked frame of text, and its echo without the mask.
            Assert.Equal("\u0081\u0084", await exchange.ReadBodyAsync(2));
            await exchange.ReadBodyAsync(8);
            await exchange.SendAsync("\u0081\u0004pong");
            await exchange.ClosedByServiceAsync(mayRead: 100);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using (ClientWebSocket client = new())
        {
            await ConnectAsync(client, service);
            await client.SendAsync("ping"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: true, TestContext.Current.CancellationToken)
                .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            byte[] bytes = new byte[16];
            WebSocketReceiveResult received = await client.ReceiveAsync(bytes, TestContext.Current.CancellationToken)
                .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            Assert.Equal("pong", Encoding.ASCII.GetString(bytes, 0, received.Count));
        }

        OriginExchange asked = Assert.Single(origin.Exchanges);
        Assert.Equal(("GET /a HTTP/1.1", "websocket", "13", 24), (asked.RequestLine, asked.Field("Upgrade"), asked.Field("Sec-WebSocket-Version"), asked.Field("Sec-WebSocket-Key")!.Length));
        await Eventually.TrueAsync(() => origin.ClosedByService == 1, "the origin sees the end");
        await service.IsAtRestAsync();
    }

    /// <summary>A 200 would tell the client that its stream is open.</summary>
    [Theory]
    [InlineData("200 OK", HttpStatusCode.BadGateway)]
    [InlineData("403 Forbidden", HttpStatusCode.Forbidden)]
    public async Task Stream_OfHttp2_ToAnOriginThatDoesNotAgree_IsNotOpen(string status, HttpStatusCode expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync($"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using ClientWebSocket client = new();
        client.Options.CollectHttpResponseDetails = true;

        await Assert.ThrowsAsync<WebSocketException>(() => ConnectAsync(client, service));

        Assert.Equal(expected, client.HttpStatusCode);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task OriginThatDoesNotAgree_AnswersAsEver()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", Asked);

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.Equal((200, "1", "CachingService; fwd=bypass; fwd-status=200; detail=upgrade"), (head.Status, body, head.CacheStatus));

        // No other request for the key is any different for it.
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("Connection: Upgrade\r\nUpgrade: h2c\r\n")]
    [InlineData("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n")]
    [InlineData("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n")]
    [InlineData("Connection: Upgrade\r\nUpgrade: other\r\n")]
    [InlineData("Upgrade: websocket\r\n")]
    [InlineData(Asked, "--Cache:Upgrades=")]
    [InlineData(Asked, "--Cache:Upgrades=other")]
    public async Task OtherProtocol_IsNotAskedFor(string fields, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, options);

        Assert.Equal("x", (await service.FetchAsync("/object/a", fields)).Body);

        OriginExchange asked = Assert.Single(origin.Exchanges);
        Assert.Equal((null, null, null), (asked.Field("Upgrade"), asked.Field("Connection"), asked.Field("HTTP2-Settings")));
    }

    [Theory]
    [InlineData("TRACE", 405)]
    [InlineData("DELETE", 200)]
    public async Task OtherMethod_IsNotUpgraded(string method, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(status, (await service.FetchAsync("/object/a", Asked, method)).Head.Status);
        Assert.Null(origin.Exchanges.SingleOrDefault()?.Field("Upgrade"));
    }

    /// <summary>A WebSocket may need a session on which no page depends.</summary>
    [Fact]
    public async Task IgnoredCookies_GoWithIt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Switched));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:IgnoredCookies=*");
        await using RawClient client = await service.GetAsync("/object/a", Asked);

        Assert.Equal(101, (await client.ReadHeadAsync()).Status);
        Assert.Equal("id=1", Assert.Single(origin.Exchanges).Field("Cookie"));
    }

    [Theory]
    [MemberData(nameof(EachTransport))]
    public async Task ClientThatEnds_HasAllOfItsBytesAtASlowOrigin(string transport)
    {
        const int Bytes = 1_000_000;
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource<string> got = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Switched);
            await go.Task;
            got.SetResult(await exchange.ReadBodyAsync(Bytes));
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await using (RawClient client = await service.GetAsync("/object/a", Asked))
        {
            await client.ReadHeadAsync();
            await client.SendRawAsync(new('x', Bytes));
        }

        go.SetResult();

        Assert.Equal(new('x', Bytes), await got.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task RequestWithABody_IsNotUpgraded()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.ReadBodyAsync(1);
            await exchange.AnswerAsync("x");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        await client.SendRawAsync($"POST /object/a HTTP/1.1\r\nHost: a\r\n{Asked}Content-Length: 1\r\n\r\n1");

        Assert.Equal("x", (await client.ReadAsync()).Body);
        Assert.Null(Assert.Single(origin.Exchanges).Field("Upgrade"));
    }

    [Fact]
    public async Task Origin_ThatSwitchesUnasked_IsRefused()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Switched));
        await using TestService service = await TestService.StartAsync(origin.Url);

        Assert.Equal(502, (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Head.Status);
    }

    [Theory]
    [InlineData("h2c")]
    [InlineData("websocket,HTTP")]
    [InlineData("a b")]
    public async Task Protocol_ThatIsHttpItselfOrNoName_StopsTheStart(string protocols)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://a", $"--Cache:Upgrades={protocols}"));

        Assert.Matches($"^Option Cache:Upgrades: '{protocols}' is not valid: '.*' is no protocol besides HTTP, such as websocket\\.$", failure.Message);
    }

    /// <summary>Over a connection of HTTP/2, which lasts as long as the client.</summary>
    internal static Task ConnectAsync(ClientWebSocket client, TestService service)
    {
        client.Options.HttpVersion = HttpVersion.Version20;
        client.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        return client.ConnectAsync(
            new($"{service.Url.Replace("http:", "ws:", StringComparison.Ordinal)}/object/a"),
            new HttpMessageInvoker(new SocketsHttpHandler()),
            TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }
}
