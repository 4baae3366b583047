using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Stopping: no new connections, one more answer on each, time for what runs, then a visible cut.</summary>
public sealed class DrainTests
{
    [Fact]
    public async Task Stop_WithAnAnswerInProgress_LetsItEnd()
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(exchange => SendInTwoPartsAsync(exchange, rest.Task));
        await using TestService service = await TestService.StartAsync(origin.Url, TimeSpan.FromSeconds(20));
        string url = service.Url;
        await using RawClient client = await service.GetAsync("/object/a");
        RawResponse head = await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));

        Task stopping = service.Host.StopAsync();
        await Eventually.TrueAsync(() => !CanConnect(url), "listener closed");
        Assert.False(stopping.IsCompleted);
        rest.SetResult();

        Assert.Equal(("def", "6"), (await client.ReadExactlyAsync(3), head["Content-Length"]));
        await stopping.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Stop_PastTheDeadline_CutsTheAnswerVisibly()
    {
        TaskCompletionSource never = new();
        await using ScriptedOrigin origin = new(exchange => SendInTwoPartsAsync(exchange, never.Task));
        await using TestService service = await TestService.StartAsync(origin.Url, TimeSpan.FromMilliseconds(100));
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));

        await service.Host.StopAsync().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal("", await client.ReadToCloseAsync());
        await service.DisposeAsync();
        Assert.Equal(0, service.Host.Cache.Fills.ActiveCount);
        never.SetResult();
    }

    /// <summary>A request may be on its way on an idle connection, and on one whose response began before the drain.</summary>
    [Theory]
    [InlineData("IoUring")]
    [InlineData("Sockets")]
    public async Task Stop_WithKeptConnections_AnswersOneMoreRequestOnEachAndSaysSo(string transport)
    {
        TaskCompletionSource first = new(), last = new();
        await using ScriptedOrigin origin = new(exchange => SendInTwoPartsAsync(exchange, exchange.Target == "/first" ? first.Task : last.Task));
        await using TestService service = await TestService.StartAsync(origin.Url, TimeSpan.FromSeconds(60), $"--Transport={transport}");
        string url = service.Url;
        await using RawClient idle = await service.GetAsync("/health");
        Assert.Null((await idle.ReadAsync()).Head["Connection"]);
        await using RawClient busy = await service.GetAsync("/object/first");
        await using RawClient busiest = await service.GetAsync("/object/last");
        Assert.Null((await busy.ReadHeadAsync())["Connection"]);
        Assert.Null((await busiest.ReadHeadAsync())["Connection"]);

        Task stopping = service.Host.StopAsync();
        await Eventually.TrueAsync(() => !CanConnect(url), "listener closed");
        first.SetResult();
        Assert.Equal("abcdef", await busy.ReadExactlyAsync(6));

        foreach (RawClient client in (RawClient[])[idle, busy])
        {
            await client.SendAsync("/object/first");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((200, "close", "abcdef"), (head.Status, head["Connection"], body));
            Assert.Equal("", await client.ReadToCloseAsync());
            Assert.False(client.IsReset);
        }

        Assert.False(stopping.IsCompleted);
        last.SetResult();
        Assert.Equal("abcdef", await busiest.ReadExactlyAsync(6));
        await stopping.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task Stop_WithAClientThatAsksNothingMore_ClosesItsConnectionLongBeforeTheDeadline()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        await using TestService service = await TestService.StartAsync(origin.Url, TimeSpan.FromHours(1));
        await using RawClient idle = await service.GetAsync("/object/a");
        await idle.ReadAsync();

        await service.Host.StopAsync().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal("", await idle.ReadToCloseAsync());
        Assert.False(idle.IsReset);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Drain_IsNotReadyAtOnceAndAcceptsUntilTheDelayIsOver(bool isAsked)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option, "--DrainDelay=30s", "--PublicReady=true");
        string url = service.Url;
        Assert.Equal((200, 200), ((await AskAdminAsync(service, "GET /ready")).Status, (await service.FetchAsync("/ready")).Head.Status));

        Task stopped = isAsked ? service.Host.WaitForShutdownAsync() : service.Host.StopAsync();
        if (isAsked)
        {
            Assert.Equal(200, (await AskAdminAsync(service, "POST /drain")).Status);
        }

        Assert.Equal((503, 200), ((await AskAdminAsync(service, "GET /ready")).Status, (await AskAdminAsync(service, "GET /health")).Status));
        RawResponse ready = (await service.FetchAsync("/ready")).Head;
        Assert.Equal((503, "no-store"), (ready.Status, ready["Cache-Control"]));
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(30)), "the delay");
        service.Time.Advance(TimeSpan.FromSeconds(29));
        Assert.Equal("hello", (await service.FetchAsync("/object/a")).Body);
        Assert.False(stopped.IsCompleted);
        service.Time.Advance(TimeSpan.FromSeconds(1));

        await stopped.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        // A child process that another test starts just then has the listening socket open as well, until it runs its program.
        await Eventually.TrueAsync(() => !CanConnect(url), "nothing listens any more");
        Assert.Equal(503, (await AskAdminAsync(service, "GET /ready")).Status);
    }

    private static async Task<RawResponse> AskAdminAsync(TestService service, string request)
    {
        await using RawClient client = await RawClient.ConnectAsync(service.Host.AdminUrl!);
        await client.SendRawAsync($"{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TokenFile.Token}\r\nContent-Length: 0\r\n\r\n");
        return (await client.ReadAsync()).Head;
    }

    private static async Task SendInTwoPartsAsync(OriginExchange exchange, Task between)
    {
        await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc");
        await between;
        await exchange.SendAsync("def");
    }

    private static bool CanConnect(string url)
    {
        using Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Connect(new Uri(url).Host, new Uri(url).Port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
