using System.Net;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>How often the origin is asked when it does not answer, and for how long.</summary>
public sealed class AttemptTests
{
    [Theory]
    [InlineData(false, 2)]
    [InlineData(true, 3)]
    public async Task Fill_OfAnOriginThatClosesWithoutAnswer_AsksTwiceOnNewConnections(bool isConnectionKept, int asked)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Target == "/first")
            {
                await exchange.AnswerAsync("x");
                return;
            }

            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        if (isConnectionKept)
        {
            Assert.Equal(200, (await service.FetchAsync("/object/first")).Head.Status);
        }

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal((502, "CachingService; detail=origin-no-answer"), (head.Status, head.CacheStatus));
        Assert.Equal(asked, origin.Exchanges.Count(exchange => exchange.Target == "/a"));
        Assert.Single(service.Log.Warnings);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Pass_OnAConnectionThatCloses_IsAskedOnceMore()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number == 2)
            {
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", "Cookie: a=b\r\n");

        Assert.Equal("hello", (await service.FetchAsync("/object/a", "Cookie: a=b\r\n")).Body);
        Assert.Equal(3, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Head_IsTriedAsOftenAsAFill()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number < 3)
            {
                await exchange.SendAsync("nonsense\r\n\r\n");
                exchange.Close();
                return;
            }

            await exchange.AnswerAsync("hello");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:FillAttempts=3", "--Cache:FillRetryDelay=0s");

        (RawResponse head, _) = await service.FetchAsync("/object/a", method: "HEAD");

        Assert.Equal((200, "5", 3), (head.Status, head["Content-Length"], origin.RequestCount));
        Assert.All(origin.Exchanges, exchange => Assert.Equal("GET", exchange.Method));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Pass_WithABody_IsNeverAskedAgain()
    {
        await using ScriptedOrigin origin = new(DieAfterThreeBytesAsync);
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, _) = await service.FetchAsync("/object/a", "Content-Length: 3\r\n\r\nabc");

        Assert.Equal((502, 1), (head.Status, origin.RequestCount));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Pass_WhoseOriginDiesDuringTheBody_Is502AndTheConnectionIsLeftInOrder()
    {
        await using ScriptedOrigin origin = new(DieAfterThreeBytesAsync);
        await using TestService service = await TestService.StartAsync(origin.Url);
        await using RawClient client = await service.GetAsync("/object/a", "Content-Length: 7\r\n\r\nab");

        // Four bytes have gone with the head, its last line end included.
        await client.SendRawAsync("cde");
        Assert.Equal(502, (await client.ReadAsync()).Head.Status);
        await client.SendAsync("/health");

        Assert.Equal("OK", (await client.ReadAsync()).Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task HeaderTimeout_Alone_IsTheTimeOfAnAttempt()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.ClosedByServiceAsync());
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:OriginConnectTimeout=5s", "--Cache:OriginHeaderTimeout=9s", "--Cache:FillAttempts=1");

        await using RawClient client = await service.GetAsync("/object/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "the attempt");
        service.Time.Advance(TimeSpan.FromSeconds(9));

        Assert.Equal(504, (await client.ReadAsync()).Head.Status);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Connection_ThatNobodyTakes_Is504()
    {
        // One connection fills a backlog of 0; the kernel then lets the service's connection requests go unanswered.
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(0);
        using Socket first = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await first.ConnectAsync(listener.LocalEndPoint!, TestContext.Current.CancellationToken).AsTask()
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await using TestService service = await TestService.StartAsync($"http://{listener.LocalEndPoint}", "--Cache:OriginConnectTimeout=100ms");

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal((504, "CachingService; detail=origin-connect-timeout"), (head.Status, head.CacheStatus));
        await service.IsAtRestAsync();
    }

    private static async Task DieAfterThreeBytesAsync(OriginExchange exchange)
    {
        await exchange.ReadBodyAsync(3);
        exchange.Close();
    }
}
