using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Binding, accepting, unbinding: the same on io_uring and on Kestrel's Sockets transport.</summary>
public sealed class ListenerParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bind_ToPortZero_EndPointHasThePort(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        IPEndPoint endPoint = Assert.IsType<IPEndPoint>(server.EndPoint);
        Assert.Equal(IPAddress.Loopback, endPoint.Address);
        Assert.NotEqual(0, endPoint.Port);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bind_ToTakenPort_ThrowsAddressInUse(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await Assert.ThrowsAsync<AddressInUseException>(() => server.Factory.BindAsync(server.EndPoint).InTime());

        // And the first one is none the worse.
        await using ConnectionPair pair = await server.ConnectAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bind_ToTakenUnixPath_ThrowsAddressInUse(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: TransportServer.NewUnixEndPoint());
        await Assert.ThrowsAsync<AddressInUseException>(() => server.Factory.BindAsync(server.EndPoint).InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bind_AfterUnbind_TakesThePortAgain(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await server.Listener.UnbindAsync().InTime();
        IConnectionListener again = await server.Factory.BindAsync(server.EndPoint).InTime();
        using Socket client = await server.ConnectClientAsync();
        ConnectionContext? connection = await again.AcceptAsync().InTime();
        Assert.NotNull(connection);
        connection.Abort();
        await connection.DisposeAsync().InTime();
        await again.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Bind_ToFileHandle_ServesTheSocketHandedIn(TransportKind kind)
    {
        using Socket handedIn = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        handedIn.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        handedIn.Listen();
        await using TransportServer server = await TransportServer.StartAsync(
            kind, endPoint: new FileHandleEndPoint((ulong)handedIn.Handle, FileHandleType.Auto));
        await using ConnectionPair pair = await server.ConnectAsync(to: handedIn.LocalEndPoint);
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task EndPoints_OfConnection_AreTheClientsMirrored(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Equal(pair.Client.LocalEndPoint, pair.Server.RemoteEndPoint);
        Assert.Equal(pair.Client.RemoteEndPoint, pair.Server.LocalEndPoint);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task EndPoints_OfAnyAddressListener_AreConcrete(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: new IPEndPoint(IPAddress.Any, 0));
        EndPoint to = new IPEndPoint(IPAddress.Loopback, ((IPEndPoint)server.EndPoint).Port);
        await using ConnectionPair pair = await server.ConnectAsync(to: to);
        Assert.Equal(pair.Client.LocalEndPoint, pair.Server.RemoteEndPoint);
        Assert.Equal(to, pair.Server.LocalEndPoint);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task EndPoints_OfDualModeListener_AreMappedAddresses(TransportKind kind)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: new IPEndPoint(IPAddress.IPv6Any, 0));
        EndPoint to = new IPEndPoint(IPAddress.Loopback, ((IPEndPoint)server.EndPoint).Port);
        await using ConnectionPair pair = await server.ConnectAsync(to: to);
        IPEndPoint client = (IPEndPoint)pair.Client.LocalEndPoint!;
        Assert.Equal(new IPEndPoint(client.Address.MapToIPv6(), client.Port), pair.Server.RemoteEndPoint);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task EndPoints_OfUnixConnection_AreUnixAddresses(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: TransportServer.NewUnixEndPoint());
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Equal(server.EndPoint.ToString(), pair.Server.LocalEndPoint?.ToString());
        Assert.IsType<UnixDomainSocketEndPoint>(pair.Server.RemoteEndPoint);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Unbind_WithPendingAccept_EndsItWithNull(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Task<ConnectionContext?> accepting = server.AcceptAsync();
        await server.Listener.UnbindAsync().InTime();
        Assert.Null(await accepting);
        Assert.Null(await server.AcceptAsync());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Unbind_WithLiveConnections_TheyLiveOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await server.Listener.UnbindAsync().InTime();
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        await pair.Output.WriteAsync("def"u8.ToArray()).InTime();
        Assert.Equal("def"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Unbind_WithUntakenConnections_TheyAreReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Socket[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.ConnectClientAsync())).InTime();
        await server.Listener.UnbindAsync().InTime();
        await server.Listener.DisposeAsync().InTime();
        foreach (Socket client in clients)
        {
            await client.AssertResetAsync();
            client.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Unbind_Twice_SecondReturns(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await server.Listener.UnbindAsync().InTime();
        await server.Listener.UnbindAsync().InTime();
        await server.Listener.DisposeAsync().InTime();
        await server.Listener.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Unbind_OfUnixPath_RemovesTheFile(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: endPoint);
        Assert.True(File.Exists(endPoint.ToString()));
        await server.Listener.UnbindAsync().InTime();
        Assert.False(File.Exists(endPoint.ToString()));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Accept_AfterClientsThatCameAndWent_GoesOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Task serving = server.ServeAsync(async connection =>
        {
            try
            {
                await ServerPipe.EchoAsync(connection);
            }
            catch (ConnectionResetException)
            {
                // That is what these clients do.
            }
        });
        for (int i = 0; i < 50; i++)
        {
            (await server.ConnectClientAsync()).Reset();
        }

        using (Socket client = await server.ConnectClientAsync())
        {
            await client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await client.ReceiveExactlyAsync(3));
        }

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }

    [Theory]
    [InlineData(TransportKind.ThreadPool)]
    [InlineData(TransportKind.Inline)]
    [DeliberateDifference(
        "A client whose own Unix path fills all of its address is served; the accept of the Sockets transport fails on it and hears "
        + "no client after it.")]
    public async Task Accept_OfClientWithTheLongestUnixName_GoesOn(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: TransportServer.NewUnixEndPoint());
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);
        LongestUnixName name = new();
        try
        {
            using Socket named = await server.ConnectClientAsync(client => client.Bind(name));
            using Socket client = await server.ConnectClientAsync();
            await client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await client.ReceiveExactlyAsync(3));
        }
        finally
        {
            File.Delete(name.Path);
        }

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }
}
