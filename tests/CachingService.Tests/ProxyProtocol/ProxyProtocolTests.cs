using System.IO.Pipelines;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using CachingService.ProxyProtocol;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Connections;

namespace CachingService.Tests.ProxyProtocol;

/// <summary>A service behind proxies that say by the PROXY protocol whose connection it is.</summary>
public sealed class ProxyProtocolTests
{
    private const string From = "--ProxyProtocol:From=127.0.0.0/8";
    private const string OfAClient = "PROXY TCP4 192.0.2.1 198.51.100.7 51234 443\r\n";
    private const string Post = "POST /object/a HTTP/1.1\r\nHost: cache.test\r\nContent-Length: 0\r\n\r\n";

    public static TheoryData<string, string> Headers => new()
    {
        { OfAClient, "192.0.2.1" },
        { "PROXY TCP6 2001:db8::1 ::1 51234 443\r\n", "2001:db8::1" },
        { "PROXY TCP6 ::ffff:192.0.2.1 ::1 51234 443\r\n", "192.0.2.1" },
        { "PROXY UNKNOWN\r\n", "127.0.0.1" },
        { ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4), "192.0.2.1" },
        { ProxyBytes.Of(0x21, 0x21, ProxyBytes.IPv6), "2001:db8::1" },
        { ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4 + new string('\0', 20_000)), "192.0.2.1" },
        { ProxyBytes.Of(0x20, 0x00, ""), "127.0.0.1" },
    };

    [Theory]
    [MemberData(nameof(Headers))]
    public async Task Connection_OfAProxy_IsItsClients(string header, string client)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From);
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);

        // Twice on one connection: the header is its start alone.
        await proxy.SendRawAsync(header + Post);
        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);
        await proxy.SendRawAsync(Post);
        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);

        Assert.Equal([client, client], origin.Exchanges.Select(static exchange => exchange.Field("X-Forwarded-For")));
        Assert.Empty(service.Log.Warnings);
    }

    [Fact]
    public async Task Header_InPieces_IsReadToItsEnd()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From);
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);

        foreach (char one in OfAClient + Post)
        {
            await proxy.SendRawAsync(one.ToString());
        }

        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);
        Assert.Equal("192.0.2.1", Assert.Single(origin.Exchanges).Field("X-Forwarded-For"));
    }

    /// <summary>The client's own fields count if the client is trusted, not if the proxy is.</summary>
    [Theory]
    [InlineData("192.0.2.1", "203.0.113.9, 192.0.2.1")]
    [InlineData("127.0.0.1", "192.0.2.1")]
    public async Task TrustedProxies_AreLookedUpByTheClientsAddress(string trusted, string forwardedFor)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From, $"--Cache:TrustedProxies={trusted}");
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);

        await proxy.SendRawAsync($"{OfAClient}POST /object/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nContent-Length: 0\r\n\r\n");

        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);
        Assert.Equal(forwardedFor, Assert.Single(origin.Exchanges).Field("X-Forwarded-For"));
    }

    [Fact]
    public async Task Header_BeforeTls_IsTakenOff()
    {
        CancellationToken cancelled = TestContext.Current.CancellationToken;
        using TestCertificate certificate = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [From, .. certificate.Options]);
        using TcpClient proxy = new();
        await proxy.ConnectAsync("127.0.0.1", new Uri(service.Url).Port, cancelled).AsTask().WaitAsync(Patience.Limit, cancelled);
        await proxy.GetStream().WriteAsync(Encoding.Latin1.GetBytes(OfAClient), cancelled);
        await using SslStream tls = new(proxy.GetStream(), leaveInnerStreamOpen: false, static (_, _, _, _) => true);

        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = "localhost" }, cancelled).WaitAsync(Patience.Limit, cancelled);
        await tls.WriteAsync(Encoding.Latin1.GetBytes(Post), cancelled);
        byte[] start = new byte[12];
        await tls.ReadExactlyAsync(start, cancelled).AsTask().WaitAsync(Patience.Limit, cancelled);

        Assert.Equal("HTTP/1.1 200", Encoding.Latin1.GetString(start));
        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(("192.0.2.1", "https"), (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto")));
    }

    [Fact]
    public async Task Header_BeforeHttp2_IsTakenOff()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From, "--Protocols=Http2");
        using SocketsHttpHandler handler = new() { ConnectCallback = ConnectAsync };
        using HttpMessageInvoker client = new(handler);
        using HttpRequestMessage request = new(HttpMethod.Post, $"{service.Url}/object/a")
        {
            Version = new(2, 0),
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new ByteArrayContent([]),
        };

        CancellationToken cancelled = TestContext.Current.CancellationToken;
        using HttpResponseMessage response = await client.SendAsync(request, cancelled).WaitAsync(Patience.Limit, cancelled);

        Assert.Equal(200, (int)response.StatusCode);
        Assert.Equal("192.0.2.1", Assert.Single(origin.Exchanges).Field("X-Forwarded-For"));

        static async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken cancellationToken)
        {
            Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(context.DnsEndPoint, cancellationToken);
            NetworkStream stream = new(socket, ownsSocket: true);
            await stream.WriteAsync(Encoding.Latin1.GetBytes(OfAClient), cancellationToken);
            return stream;
        }
    }

    [Fact]
    public async Task Proxy_OfAUnixSocket_IsHeard()
    {
        string path = Path.Combine(Directory.CreateTempSubdirectory("cache-proxy-").FullName, "socket");
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Urls=http://unix:{path};http://127.0.0.1:0", "--ProxyProtocol:From=unix", $"--ProxyProtocol:Urls=http://unix:{path}");
        await using RawClient proxy = await RawClient.ConnectAsync($"http://unix:{path}");

        await proxy.SendRawAsync(OfAClient + Post);

        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);
        Assert.Equal("192.0.2.1", Assert.Single(origin.Exchanges).Field("X-Forwarded-For"));
    }

    [Fact]
    public async Task Address_ThatExpectsNone_AnswersWithoutAHeader()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Urls=http://127.0.0.1:0;http://[::1]:0", From, "--ProxyProtocol:Urls=http://[::1]:0");

        Assert.Equal(200, (await service.FetchAsync("/object/a")).Head.Status);
        Assert.Empty(service.Log.Warnings);
    }

    [Theory]
    [InlineData(Post)]
    [InlineData("\u0016\u0003\u0001")]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.7 51234\r\n" + Post)]
    public async Task Proxy_WithoutAHeader_IsClosed(string bytes)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From);
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);

        await proxy.SendRawAsync(bytes);

        Assert.Equal("", await proxy.ReadToCloseAsync());
        Assert.Empty(origin.Exchanges);
        await Eventually.TrueAsync(() => service.Log.Warnings.Count == 1, "one warning");
        Assert.Contains("has no PROXY header: its first bytes are none", service.Log.Warnings[0], StringComparison.Ordinal);
        Assert.Empty(service.Log.Errors);
    }

    [Fact]
    public async Task Connection_ThatTheServiceAborts_IsNotSaidToBeLate()
    {
        LogLines log = new();
        Pipe received = new();
        await received.Writer.WriteAsync("PROXY "u8.ToArray(), TestContext.Current.CancellationToken);
        await using DefaultConnectionContext connection = new("a", new Wire(received.Reader, new Pipe().Writer), new Wire(new Pipe().Reader, received.Writer))
        {
            RemoteEndPoint = new IPEndPoint(IPAddress.Loopback, 1),
        };
        ProxyProtocolMiddleware middleware = new(PeerList.Parse("127.0.0.1"), new FakeTime(), log.CreateLogger("CachingService"));

        Task reading = middleware.Before(static _ => Task.CompletedTask)(connection);
        await received.Writer.CompleteAsync(new ConnectionAbortedException());
        await reading.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Empty(log.Warnings);
    }

    [Fact]
    public async Task Client_ThatIsNoProxy_IsClosed()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--ProxyProtocol:From=192.0.2.0/24;::1;unix");
        await using RawClient client = await RawClient.ConnectAsync(service.Url);

        await client.SendRawAsync(OfAClient + Post);

        Assert.Equal("", await client.ReadToCloseAsync());
        Assert.Empty(origin.Exchanges);
        await Eventually.TrueAsync(() => service.Log.Warnings.Count == 1, "one warning");
        Assert.Contains("only proxies in ProxyProtocol:From may connect", service.Log.Warnings[0], StringComparison.Ordinal);
    }

    [Fact]
    public async Task Proxy_ThatSaysNothing_IsClosedAfterAWhile()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From);
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);
        await proxy.SendRawAsync(OfAClient[..^1]);
        await Eventually.TrueAsync(() => service.Time.DueWithin(ProxyProtocolMiddleware.TimeLimit), "the time-out is set");

        service.Time.Advance(ProxyProtocolMiddleware.TimeLimit);

        Assert.Equal("", await proxy.ReadToCloseAsync());
        await Eventually.TrueAsync(() => service.Log.Warnings.Count == 1, "one warning");
        Assert.Contains("it did not come within 5 s", service.Log.Warnings[0], StringComparison.Ordinal);
    }

    /// <summary>As balancers check that a port is open.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Proxy_ThatOnlyConnects_CostsNoWarning(bool isReset)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, From);
        RawClient check = await RawClient.ConnectAsync(service.Url);
        if (isReset)
        {
            check.Vanish();
        }

        await check.DisposeAsync();
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);
        await proxy.SendRawAsync(OfAClient + Post);

        Assert.Equal(200, (await proxy.ReadAsync()).Head.Status);
        Assert.Empty(service.Log.Warnings);
    }

    [Theory]
    [InlineData("--ProxyProtocol:From=here", "Option ProxyProtocol:From")]
    [InlineData("--ProxyProtocol:Urls=http://127.0.0.1:0", "Option ProxyProtocol:Urls: needs ProxyProtocol:From")]
    [InlineData("--ProxyProtocol:Urls=http://127.0.0.2:0", "Option ProxyProtocol:Urls: 'http://127.0.0.2:0' is not among Urls ('http://127.0.0.1:0')")]
    [InlineData("--ProxyProtocol:Urls=8080", "Option ProxyProtocol:Urls")]
    [InlineData("--ProxyProtocol:Form=127.0.0.1", "--ProxyProtocol:Form is not known")]
    public async Task Option_ThatIsWrong_IsNamed(string option, string message)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://127.0.0.1:1", option));

        Assert.Contains(message, failure.Message, StringComparison.Ordinal);
    }

    private sealed record Wire(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
