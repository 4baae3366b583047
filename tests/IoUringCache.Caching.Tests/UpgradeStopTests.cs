using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Hosting;

namespace IoUringCache.Caching.Tests;

/// <summary>Connections of other protocols when the application stops.</summary>
public sealed class UpgradeStopTests
{
    private const string Asked = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    private const string Switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";

    [Fact]
    public async Task Stop_EndsThemInHalfOfTheTimeThatTheHostHas()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync(Switched);
            await exchange.ClosedByServiceAsync();
        });
        await using CacheApp app = await CacheApp.StartAsync(
            ServerKind.IoUring,
            static builder => builder.Services.Configure<HostOptions>(static host => host.ShutdownTimeout = TimeSpan.FromMilliseconds(20)),
            app => app.MapStreamingCache("/{**path}", origin.Url));
        using Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync("127.0.0.1", new Uri(app.Url).Port).WaitAsync(Patience.Limit);
        await client.SendAsync(Encoding.ASCII.GetBytes(Asked)).WaitAsync(Patience.Limit);
        await Eventually.TrueAsync(() => app.Engine.Metrics is { ActiveUpgrades: 1, ActivePasses: 0 }, "the origin has switched");

        app.Services.GetRequiredService<IHostApplicationLifetime>().StopApplication();

        await using NetworkStream stream = new(client);
        using StreamReader reader = new(stream, Encoding.ASCII);
        Assert.StartsWith("HTTP/1.1 101 ", await reader.ReadToEndAsync().WaitAsync(Patience.Limit), StringComparison.Ordinal);
        await Eventually.TrueAsync(() => origin.ClosedByService == 1 && app.Engine.Metrics.ActiveUpgrades == 0, "the origin sees the end");
    }
}
