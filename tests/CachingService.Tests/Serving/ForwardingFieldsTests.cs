using System.Net;
using System.Net.Sockets;
using System.Text;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Serving;

/// <summary>What the origin learns of the client behind a proxy in front; without one, see <see cref="PoisoningTests"/>.</summary>
public sealed class ForwardingFieldsTests
{
    private const string OfTheProxy =
        "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\nX-Forwarded-Proto: https\r\nForwarded: for=192.0.2.1;proto=https\r\n";

    [Theory]
    [InlineData("GET", "Cookie: a=b\r\n")]
    [InlineData("POST", "")]
    public async Task Pass_OfATrustedProxy_ExtendsItsLists(string method, string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:TrustedProxies=192.0.2.7;127.0.0.0/8");

        await service.FetchAsync("/object/a", fields + OfTheProxy, method);

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(
            ("192.0.2.1, 192.0.2.2, 127.0.0.1", "https", "for=192.0.2.1;proto=https, for=127.0.0.1;proto=http"),
            (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto"), exchange.Field("Forwarded")));
    }

    [Fact]
    public async Task Pass_OfATrustedProxyThatSaysNothing_NamesTheProxy()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:TrustedProxies=127.0.0.1");

        await service.FetchAsync("/object/a", "X-Forwarded-For:\r\nX-Forwarded-Proto:\r\nForwarded:\r\n", "POST");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(
            ("127.0.0.1", "http", null),
            (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto"), exchange.Field("Forwarded")));
    }

    [Theory]
    [InlineData("")]
    [InlineData("192.0.2.0/24;::1;unix")]
    public async Task Pass_OfAnotherClient_HasNothingOfWhatItSays(string trusted)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:TrustedProxies={trusted}");

        await service.FetchAsync("/object/a", OfTheProxy, "POST");

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.Equal(
            ("127.0.0.1", "http", null),
            (exchange.Field("X-Forwarded-For"), exchange.Field("X-Forwarded-Proto"), exchange.Field("Forwarded")));
    }

    [Fact]
    public async Task Fill_OfATrustedProxy_CarriesNoneOfIt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:TrustedProxies=127.0.0.1");

        await service.FetchAsync("/object/a", OfTheProxy);

        OriginExchange exchange = Assert.Single(origin.Exchanges);
        Assert.All(["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"], name => Assert.Null(exchange.Field(name)));
    }

    [Theory]
    [InlineData("unix", "192.0.2.1, 192.0.2.2, unknown")]
    [InlineData("127.0.0.1", "unknown")]
    public async Task Pass_OverAUnixSocket_IsOfATrustedProxyWhereTheOptionSaysSo(string trusted, string expected)
    {
        string folder = Directory.CreateTempSubdirectory("cache-socket-").FullName;
        try
        {
            string path = Path.Combine(folder, "s");
            await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
            await using TestService service = await TestService.StartAsync(
                origin.Url, $"--Urls=http://unix:{path}", $"--Cache:TrustedProxies={trusted}");
            using Socket client = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            CancellationToken stop = TestContext.Current.CancellationToken;
            await client.ConnectAsync(new UnixDomainSocketEndPoint(path), stop).AsTask().WaitAsync(Patience.Limit, stop);
            byte[] request = Encoding.ASCII.GetBytes($"DELETE /object/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{OfTheProxy}\r\n");
            await client.SendAsync(request, stop).AsTask().WaitAsync(Patience.Limit, stop);
            await using NetworkStream answer = new(client);
            using StreamReader reader = new(answer);
            await reader.ReadToEndAsync(stop).WaitAsync(Patience.Limit, stop);

            Assert.Equal(expected, Assert.Single(origin.Exchanges).Field("X-Forwarded-For"));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Theory]
    [InlineData("2001:db8::1", "2001:db8::/32", "a, 2001:db8::1", "for=a, for=\"[2001:db8::1]\";proto=http")]
    [InlineData("::ffff:10.1.2.3", "10.9.9.9/8", "a, 10.1.2.3", "for=a, for=10.1.2.3;proto=http")]
    [InlineData("::ffff:10.1.2.3", "::/0", "10.1.2.3", "")]
    [InlineData("10.1.2.3", "10.1.2.4", "10.1.2.3", "")]
    public void Peer_OfEachFamily_IsLookedUpAndWritten(string peer, string trusted, string expected, string forwarded)
    {
        DefaultHttpContext context = new() { Connection = { RemoteIpAddress = IPAddress.Parse(peer) }, Request = { Scheme = "http" } };
        context.Request.Headers["X-Forwarded-For"] = "a";
        context.Request.Headers["Forwarded"] = "for=a";
        List<HeaderField> fields = [];

        ForwardingFields.Add(fields, context, PeerList.Parse(trusted));

        Assert.Equal((expected, forwarded), (ValueOf("X-Forwarded-For"), ValueOf("Forwarded")));

        string ValueOf(string name) => string.Join(", ", fields.Where(field => field.Name == name).SelectMany(field => field.Values));
    }
}
