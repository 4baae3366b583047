using System.Net;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.SignalR.Client;
using Microsoft.Extensions.DependencyInjection;
using Protocol.Tests.Support;

namespace Protocol.Tests.SignalR;

/// <summary>A hub by each of its transports.</summary>
public sealed class SignalRTests
{
    public static TheoryData<TransportKind, HttpTransportType> All
    {
        get
        {
            TheoryData<TransportKind, HttpTransportType> data = [];
            foreach (TransportKind kind in Enum.GetValues<TransportKind>())
            {
                data.Add(kind, HttpTransportType.WebSockets);
                data.Add(kind, HttpTransportType.ServerSentEvents);
                data.Add(kind, HttpTransportType.LongPolling);
            }

            return data;
        }
    }

    /// <summary>Long polling has no connection that a server could drop.</summary>
    public static TheoryData<TransportKind, HttpTransportType> Connected =>
        [.. All.Where(row => row.Data.Item2 != HttpTransportType.LongPolling)];

    [Theory]
    [MemberData(nameof(All))]
    public async Task Calls_OneAfterTheOtherAndAtOnce_AreAnswered(TransportKind kind, HttpTransportType transport)
    {
        await using KestrelHost host = await StartAsync(kind);
        using HttpClient client = host.CreateClient();
        await using HubConnection hub = await ConnectAsync(host, client, transport);
        for (int i = 0; i < 50; i++)
        {
            string text = new((char)('a' + (i % 26)), i * 100);
            Assert.Equal(text, await hub.InvokeAsync<string>("Echo", text).InTime());
        }

        string[] answers = await Task.WhenAll(Enumerable.Range(0, 50).Select(i => hub.InvokeAsync<string>("Echo", $"{i}"))).InTime();
        Assert.Equal(Enumerable.Range(0, 50).Select(i => $"{i}"), answers);
        await hub.StopAsync().InTime();
        Assert.Equal(HubConnectionState.Disconnected, hub.State);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Streams_BothWays_ArriveInOrder(TransportKind kind, HttpTransportType transport)
    {
        await using KestrelHost host = await StartAsync(kind);
        using HttpClient client = host.CreateClient();
        await using HubConnection hub = await ConnectAsync(host, client, transport);
        List<int> received = [];
        using CancellationTokenSource limit = new(Deadline.Limit);
        await foreach (int number in hub.StreamAsync<int>("Count", 1000, limit.Token))
        {
            received.Add(number);
        }

        Assert.Equal(Enumerable.Range(0, 1000), received);
        Assert.Equal(499_500, await hub.InvokeAsync<int>("Sum", Numbers()).InTime());

        static async IAsyncEnumerable<int> Numbers()
        {
            for (int i = 0; i < 1000; i++)
            {
                await Task.Yield();
                yield return i;
            }
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Messages_FromTheServer_ArriveInOrder(TransportKind kind, HttpTransportType transport)
    {
        await using KestrelHost host = await StartAsync(kind);
        using HttpClient client = host.CreateClient();
        await using HubConnection hub = await ConnectAsync(host, client, transport);
        const int Count = 500;
        List<int> ticks = [];
        TaskCompletionSource complete = new(TaskCreationOptions.RunContinuationsAsynchronously);
        hub.On<int>("tick", number =>
        {
            ticks.Add(number);
            if (number == Count - 1)
            {
                complete.SetResult();
            }
        });
        await hub.InvokeAsync("Tick", Count).InTime();

        // The client runs handlers on a queue of their own, which the end of the call does not wait for.
        await complete.Task.InTime();
        Assert.Equal(Enumerable.Range(0, Count), ticks);
    }

    [Theory]
    [MemberData(nameof(Connected))]
    public async Task Connection_DroppedByTheServer_ComesBack(TransportKind kind, HttpTransportType transport)
    {
        await using KestrelHost host = await StartAsync(kind);
        using HttpClient client = host.CreateClient();
        await using HubConnection hub = await ConnectAsync(host, client, transport);
        TaskCompletionSource reconnected = new(TaskCreationOptions.RunContinuationsAsynchronously);
        hub.Reconnected += _ =>
        {
            reconnected.SetResult();
            return Task.CompletedTask;
        };
        await hub.SendAsync("Drop").InTime();
        await reconnected.Task.InTime();
        Assert.Equal("again", await hub.InvokeAsync<string>("Echo", "again").InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Stop_OfTheServerWithAnOpenHub_CallsGoOnUntilTheClientLeaves(TransportKind kind)
    {
        StopSignal stop = new();
        await using KestrelHost host = await StartAsync(kind, stop.Watch);
        using HttpClient client = host.CreateClient();
        await using HubConnection hub = await ConnectAsync(host, client, HttpTransportType.WebSockets);
        Assert.Equal("before", await hub.InvokeAsync<string>("Echo", "before").InTime());

        // Kestrel alone: when the whole application stops, SignalR ends its connections itself.
        Task stopping = host.Services.GetRequiredService<IServer>().StopAsync(CancellationToken.None);
        await stop.Asked.InTime();

        for (int i = 0; i < 10; i++)
        {
            Assert.Equal($"{i}", await hub.InvokeAsync<string>("Echo", $"{i}").InTime());
        }

        await hub.StopAsync().InTime();
        await stopping.InTime();
    }

    private static Task<KestrelHost> StartAsync(TransportKind kind, Action<ListenOptions>? listen = null) => KestrelHost.StartAsync(
        kind,
        application => application.MapHub<TestHub>("/hub"),
        listen,
        host: builder => builder.ConfigureServices(services => services.AddSignalR()));

    private static async Task<HubConnection> ConnectAsync(KestrelHost host, HttpClient client, HttpTransportType transport)
    {
        HubConnectionBuilder builder = new();
        builder.Services.AddSingleton<IConnectionFactory>(new HubLinkFactory(client, transport));
        builder.Services.AddSingleton<EndPoint>(new UriEndPoint(new Uri(host.Address, "/hub")));
        builder.AddJsonProtocol();
        HubConnection hub = builder.WithAutomaticReconnect([TimeSpan.Zero, TimeSpan.FromMilliseconds(100), TimeSpan.FromSeconds(1)]).Build();
        await hub.StartAsync().InTime();
        return hub;
    }
}
