using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Which end points can be bound, what clients reach them, and how it fails where they cannot.</summary>
public sealed class EndPointParityTests
{
    private static readonly Dictionary<string, (EndPoint EndPoint, bool Binds)> s_kinds = new()
    {
        ["IPv4"] = (new IPEndPoint(IPAddress.Loopback, 0), true),
        ["IPv6"] = (new IPEndPoint(IPAddress.IPv6Loopback, 0), true),
        ["Unix path"] = (new UnixDomainSocketEndPoint("some.sock"), true),
        ["file handle"] = (new FileHandleEndPoint(3, FileHandleType.Auto), true),
        ["named pipe"] = (new NamedPipeEndPoint("pipe"), false),
        ["host name"] = (new DnsEndPoint("localhost", 80), false),
    };

    /// <summary>What to bind, and from where clients come.</summary>
    private static readonly Dictionary<string, (IPAddress Bind, IPAddress From)> s_addresses = new()
    {
        ["IPv4 loopback"] = (IPAddress.Loopback, IPAddress.Loopback),
        ["another IPv4 loopback address"] = (IPAddress.Parse("127.0.0.2"), IPAddress.Parse("127.0.0.2")),
        ["any IPv4, from IPv4"] = (IPAddress.Any, IPAddress.Loopback),
        ["IPv6 loopback"] = (IPAddress.IPv6Loopback, IPAddress.IPv6Loopback),
        ["any IPv6, from IPv6"] = (IPAddress.IPv6Any, IPAddress.IPv6Loopback),
        ["any IPv6, from IPv4"] = (IPAddress.IPv6Any, IPAddress.Loopback),
    };

    public static TheoryData<TransportKind, string> Kinds => Transports.AllWith(s_kinds.Keys);

    public static TheoryData<TransportKind, string> Addresses => Transports.AllWith(s_addresses.Keys);

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task CanBind_OfEndPoint_SaysWhetherBindingWorks(TransportKind kind, string endPoint)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        IConnectionListenerFactorySelector selector = Assert.IsType<IConnectionListenerFactorySelector>(server.Factory, exactMatch: false);
        Assert.Equal(s_kinds[endPoint].Binds, selector.CanBind(s_kinds[endPoint].EndPoint));
    }

    [Theory]
    [MemberData(nameof(Addresses))]
    public async Task Bind_ToAddress_ClientReachesItAndAddressesMirror(TransportKind kind, string address)
    {
        (IPAddress bind, IPAddress from) = s_addresses[address];
        Assert.SkipUnless(Socket.OSSupportsIPv6 || bind.AddressFamily == AddressFamily.InterNetwork, "There is no IPv6 here.");
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: new IPEndPoint(bind, 0));
        IPEndPoint bound = Assert.IsType<IPEndPoint>(server.EndPoint);
        Assert.Equal(bind, bound.Address);
        Assert.NotEqual(0, bound.Port);

        await using ConnectionPair pair = await server.ConnectAsync(to: new IPEndPoint(from, bound.Port));
        Assert.Equal(AsSeenBy(bind, pair.Client.LocalEndPoint), pair.Server.RemoteEndPoint);
        Assert.Equal(AsSeenBy(bind, pair.Client.RemoteEndPoint), pair.Server.LocalEndPoint);
        await AssertServesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToIPv6Loopback_IPv4IsRefused(TransportKind kind)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");

        // Bound and not listening, so that no other process listens on the IPv4 port.
        using Socket reserved = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        reserved.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        IPEndPoint ipv4 = (IPEndPoint)reserved.LocalEndPoint!;
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: new IPEndPoint(IPAddress.IPv6Loopback, ipv4.Port));
        SocketException exception = await Assert.ThrowsAsync<SocketException>(() => server.ConnectClientAsync(to: ipv4));
        Assert.Equal(SocketError.ConnectionRefused, exception.SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToAbstractUnixName_Serves(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = new($"\0transport-{Guid.NewGuid():N}");
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: endPoint);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Equal(endPoint.ToString(), pair.Server.LocalEndPoint?.ToString());
        await AssertServesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToUnixPath_ServesAndNamesThePath(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: endPoint);
        Assert.Equal(endPoint.ToString(), server.EndPoint.ToString());
        await using ConnectionPair pair = await server.ConnectAsync();
        await AssertServesAsync(pair);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToTakenPort_ExceptionHoldsTheSocketsOne(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        AddressInUseException exception =
            await Assert.ThrowsAsync<AddressInUseException>(() => server.Factory.BindAsync(server.EndPoint).InTime());
        SocketException inner = Assert.IsType<SocketException>(exception.InnerException);
        Assert.Equal(SocketError.AddressAlreadyInUse, inner.SocketErrorCode);
        Assert.Equal(inner.Message, exception.Message);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToAddressOfAnotherHost_ThrowsSocketException(TransportKind kind)
    {
        // 192.0.2.0/24 is for documentation: nobody has it.
        SocketException exception = await Assert.ThrowsAsync<SocketException>(
            () => TransportServer.StartAsync(kind, endPoint: new IPEndPoint(IPAddress.Parse("192.0.2.1"), 0)));
        Assert.Equal(SocketError.AddressNotAvailable, exception.SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToUnixPathInMissingFolder_ThrowsSocketException(TransportKind kind)
    {
        string path = Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString("N"), "some.sock");
        await Assert.ThrowsAnyAsync<SocketException>(() => TransportServer.StartAsync(kind, endPoint: new UnixDomainSocketEndPoint(path)));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_ToTwoEndPointsOfOneFactory_EachHasItsOwnClients(TransportKind kind)
    {
        await using TransportServer first = await TransportServer.StartAsync(kind);
        IConnectionListener second = await first.Factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime();
        using Socket client = await first.ConnectClientAsync(to: second.EndPoint);
        await using (ConnectionPair pair = await first.ConnectAsync())
        {
            Assert.Equal(first.EndPoint, pair.Server.LocalEndPoint);
        }

        ConnectionContext? connection = await second.AcceptAsync().InTime();
        Assert.Equal(second.EndPoint, connection!.LocalEndPoint);
        await connection.DisposeAsync().InTime();

        // The end of one is not the end of the other.
        await second.UnbindAsync().InTime();
        await second.DisposeAsync().InTime();
        await using ConnectionPair last = await first.ConnectAsync();
        await AssertServesAsync(last);
    }

    /// <summary>A dual mode socket sees IPv4 addresses as mapped ones.</summary>
    private static EndPoint? AsSeenBy(IPAddress listener, EndPoint? endPoint) =>
        listener.AddressFamily == AddressFamily.InterNetworkV6 && endPoint is IPEndPoint ip
            ? new IPEndPoint(ip.Address.MapToIPv6(), ip.Port)
            : endPoint;

    private static async Task AssertServesAsync(ConnectionPair pair)
    {
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        await pair.Output.WriteAsync("def"u8.ToArray()).InTime();
        Assert.Equal("def"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }
}
