using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Starting, limiting and stopping a server.</summary>
public sealed class ServerParityTests
{
    /// <summary>Ways to name an end point in Kestrel's options, and the address to reach it.</summary>
    private static readonly Dictionary<string, Action<KestrelServerOptions>> s_endPoints = new()
    {
        ["loopback"] = options => options.Listen(IPAddress.Loopback, 0),
        ["any address"] = options => options.ListenAnyIP(0),
        ["IPv6 loopback"] = options => options.Listen(IPAddress.IPv6Loopback, 0),
        ["several end points"] = options =>
        {
            options.Listen(IPAddress.Loopback, 0);
            options.Listen(IPAddress.Loopback, 0);
        },
    };

    public static TheoryData<TransportKind, string> EndPoints => Transports.AllWith(s_endPoints.Keys);

    [Theory]
    [MemberData(nameof(EndPoints))]
    public async Task Address_OfEndPoint_HasThePortAndServes(TransportKind kind, string endPoint)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6 || endPoint != "IPv6 loopback", "There is no IPv6 here.");
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: s_endPoints[endPoint]);
        using HttpClient client = host.CreateClient();
        foreach (Uri address in host.Addresses)
        {
            Assert.NotEqual(0, address.Port);
            Assert.Equal("hello", await client.GetStringAsync(address).InTime());
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Start_OnTakenPort_ThrowsIOExceptionWithAddressInUse(TransportKind kind)
    {
        await using KestrelHost first = await KestrelHost.StartAsync(kind, Map);
        IOException exception = await Assert.ThrowsAsync<IOException>(
            () => KestrelHost.StartAsync(kind, Map, kestrel: options => options.Listen(IPAddress.Loopback, first.Address.Port)));
        Assert.IsType<AddressInUseException>(exception.InnerException);
        Assert.Contains("address already in use", exception.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ListenHandle_OfSocketHandedIn_Serves(TransportKind kind)
    {
        using Socket handedIn = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        handedIn.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options => options.ListenHandle((ulong)handedIn.Handle));
        using HttpClient client = new() { Timeout = Deadline.Limit };
        Assert.Equal("hello", await client.GetStringAsync(new Uri($"http://{handedIn.LocalEndPoint}")).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ListenUnixSocket_OfPath_ServesAndLeavesNoFile(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        await using (KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options => options.ListenUnixSocket(endPoint.ToString())))
        {
            using Socket client = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await client.ConnectAsync(endPoint).InTime();
            await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
            Assert.Contains("hello", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
            await host.StopAsync();
        }

        Assert.False(File.Exists(endPoint.ToString()));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task MaxConcurrentConnections_Reached_NextClientSeesFinAndFirstLives(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options =>
        {
            options.Listen(IPAddress.Loopback, 0);
            options.Limits.MaxConcurrentConnections = 1;
        });
        using Socket first = await RawClient.ConnectAsync(host);
        await AssertAnswersAsync(first);
        using Socket second = await RawClient.ConnectAsync(host);
        Assert.Empty(await second.ReceiveToEndAsync());
        await AssertAnswersAsync(first);
        first.Dispose();
        await Deadline.UntilAsync(() => TryRequest(host), () => "The place of the first connection is not given back.");
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Stop_WithIdleConnections_TheySeeFinAndPortRefuses(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, Map);
        using Socket used = await RawClient.ConnectAsync(host);
        await AssertAnswersAsync(used);
        await host.StopAsync();
        Assert.Empty(await used.ReceiveToEndAsync());
        SocketException exception = await Assert.ThrowsAsync<SocketException>(() => RawClient.ConnectAsync(host));
        Assert.Equal(SocketError.ConnectionRefused, exception.SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Stop_WithOpenRequest_ClientSeesWholeAnswerThenFin(TransportKind kind)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            arrived.SetResult();
            await release.Task.InTime();
            await context.Response.WriteAsync("finished");
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await arrived.Task.InTime();
        Task stopping = host.StopAsync();
        await Deadline.UntilAsync(() => !RawClient.Accepts(host), () => "The server still listens.");
        release.SetResult();
        Assert.EndsWith("finished\r\n0\r\n\r\n", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
        await stopping;
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Stop_WithoutPatience_OpenRequestIsAbortedAndClientSeesReset(TransportKind kind)
    {
        TaskCompletionSource arrived = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            arrived.SetResult();
            await aborted.Task.InTime();
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await arrived.Task.InTime();
        Task ending = host.DisposeAsync().AsTask();
        await aborted.Task.InTime();
        await client.AssertResetAsync();
        await ending.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Start_AtOnceAfterStop_SamePortServesAgain(TransportKind kind)
    {
        int port = 0;
        for (int round = 0; round < 3; round++)
        {
            int bind = port;
            await using KestrelHost host = await KestrelHost.StartAsync(kind, Map, kestrel: options => options.Listen(IPAddress.Loopback, bind));
            port = host.Address.Port;
            using Socket client = await RawClient.ConnectAsync(host);
            await AssertAnswersAsync(client);
            await host.StopAsync();
        }
    }

    private static void Map(WebApplication application) => application.Run(context => context.Response.WriteAsync("hello"));

    private static async Task AssertAnswersAsync(Socket client)
    {
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveTextUntilAsync("hello\r\n0\r\n\r\n");
    }

    private static bool TryRequest(KestrelHost host)
    {
        using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        client.Connect(IPAddress.Loopback, host.Address.Port);
        client.ReceiveTimeout = (int)Deadline.Limit.TotalMilliseconds;
        client.Send(Encoding.ASCII.GetBytes("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), SocketFlags.None, out SocketError _);
        return client.Receive(new byte[100], SocketFlags.None, out SocketError _) > 0;
    }
}
