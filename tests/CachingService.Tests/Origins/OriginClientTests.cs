using System.Diagnostics;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Origins;

/// <summary>What the HTTP stack towards the origin would do by itself and must not.</summary>
public sealed class OriginClientTests
{
    private static readonly (string Target, string Fields)[] s_fillAndPass = [("/object/a", ""), ("/object/b", "Cookie: mine=1\r\n")];

    [Fact]
    public async Task Cookie_OfTheOrigin_IsNotSentBack()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Set-Cookie: theirs=1; Path=/\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        for (int time = 0; time < 2; time++)
        {
            foreach ((string target, string fields) in s_fillAndPass)
            {
                Assert.Equal("theirs=1; Path=/", (await service.FetchAsync(target, fields)).Head["Set-Cookie"]);
            }
        }

        Assert.Equal([null, "mine=1", null, "mine=1"], origin.Exchanges.Select(exchange => exchange.Field("Cookie")));
    }

    [Fact]
    public async Task Trace_OfWhateverIsListening_DoesNotReachTheOrigin()
    {
        using ActivityListener listener = new()
        {
            ShouldListenTo = static _ => true,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
        };
        ActivitySource.AddActivityListener(listener);
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        foreach ((string target, string fields) in s_fillAndPass)
        {
            await service.FetchAsync(target, fields);
        }

        Assert.Equal(2, origin.RequestCount);
        Assert.All(origin.Exchanges, exchange => Assert.Equal((null, null), (exchange.Field("traceparent"), exchange.Field("Correlation-Context"))));
    }

    [Fact]
    public async Task Response_ThatNobodyWants_IsNotReadToItsEnd()
    {
        using SemaphoreSlim hasLeft = new(0);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
            await hasLeft.WaitAsync();
            await exchange.SendAsync("def");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        RawClient leaves = await service.GetAsync("/object/a");
        await leaves.ReadHeadAsync();
        leaves.Vanish();
        await service.IsAtRestAsync();
        hasLeft.Release(2);

        Assert.Equal("abcdef", (await service.FetchAsync("/object/a")).Body);

        // Whoever reads on to keep the connection has it ready for the second request.
        Assert.All(origin.Exchanges, exchange => Assert.True(exchange.IsFirstOfConnection));
    }

    [Fact]
    public async Task Trailers_OfAFill_AreNeitherPassedOnNorStored()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTrailer: X-After\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3\r\nabc\r\n0\r\nX-After: 1\r\nCache-Control: no-store\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int time = 0; time < 2; time++)
        {
            await client.SendAsync("/object/a");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal(("abc", null, "max-age=60"), (body, head["X-After"], head["Cache-Control"]));
        }

        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task Connection_WhoseClientHasLeftWhileItWasMade_IsGivenUp()
    {
        // Else clients that come and go would have more connections made than there are fills and passes.
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(0);
        using Socket first = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await first.ConnectAsync(listener.LocalEndPoint!, TestContext.Current.CancellationToken).AsTask()
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        int port = ((IPEndPoint)listener.LocalEndPoint!).Port;
        await using TestService service = await TestService.StartAsync(
            $"http://{listener.LocalEndPoint}", "--Cache:OriginConnectTimeout=1m");

        for (int count = 1; count <= 4; count++)
        {
            await using RawClient client = await service.GetAsync("/object/a", "Cookie: a=b\r\n");
            await Eventually.TrueAsync(() => service.Host.Metrics.ActivePasses == 1, "a pass");
            await Eventually.TrueAsync(() => CountConnecting(port) > 0, "it connects");
            client.Vanish();
            await service.IsAtRestAsync();
            await Eventually.TrueAsync(() => CountConnecting(port) == 0, "nobody connects");
        }
    }

    private static int CountConnecting(int port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpConnections()
        .Count(connection => connection.State == TcpState.SynSent && connection.RemoteEndPoint.Port == port);
}
