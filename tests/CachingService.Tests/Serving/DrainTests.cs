using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Stopping: no new connections, time for what runs, then a visible cut.</summary>
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
        Assert.Equal(0, service.Host.Fills.ActiveCount);
        never.SetResult();
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
