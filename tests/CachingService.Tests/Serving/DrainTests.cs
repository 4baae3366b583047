using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Stopping: no new connections, time for what runs, then a visible cut.</summary>
public sealed class DrainTests
{
    [Fact]
    public async Task Stop_WithAnAnswerInProgress_LetsItEnd()
    {
        var rest = new TaskCompletionSource();
        await using var origin = new ScriptedOrigin(exchange => SendInTwoPartsAsync(exchange, rest.Task));
        await using var service = await TestService.StartAsync(origin.Url, TimeSpan.FromSeconds(20));
        var url = service.Url;
        await using var client = await service.GetAsync("/object/a");
        var head = await client.ReadHeadAsync();
        Assert.Equal("abc", await client.ReadExactlyAsync(3));

        var stopping = service.Host.StopAsync();
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
        var never = new TaskCompletionSource();
        await using var origin = new ScriptedOrigin(exchange => SendInTwoPartsAsync(exchange, never.Task));
        await using var service = await TestService.StartAsync(origin.Url, TimeSpan.FromMilliseconds(100));
        await using var client = await service.GetAsync("/object/a");
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
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
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
