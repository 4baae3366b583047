using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>What a connect gives: the same on io_uring and by an ordinary socket.</summary>
public sealed class ConnectParityTests
{
    private static readonly string[] s_families = ["IPv4", "IPv6", "Unix", "Unix abstract"];

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind, string> Families => Transports.AllWith(s_families);

    public static TheoryData<TransportKind, bool> Switches => Transports.AllWith(true, false);

    [Theory]
    [MemberData(nameof(Families))]
    public async Task Connect_ToAnAddress_WorksBothWays(TransportKind kind, string family)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, endPoint: NewEndPoint(family));
        await using ConnectionPair pair = await peer.ConnectAsync();

        await pair.AssertWorksAsync(length: 100_000);

        Assert.Equal(pair.Client.LocalEndPoint!.ToString(), pair.Server.RemoteEndPoint!.ToString());
        Assert.Equal(pair.Client.RemoteEndPoint!.ToString(), pair.Server.LocalEndPoint!.ToString());
        DeleteFile(peer);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_ToANameOrALiteral_Works(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        foreach (string host in new[] { "localhost", "127.0.0.1" })
        {
            await using ConnectionPair pair = await peer.ConnectAsync(new DnsEndPoint(host, peer.Port));
            await pair.AssertWorksAsync();
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_NobodyListens_IsRefused(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        EndPoint gone = peer.StopListening();

        Assert.Equal(SocketError.ConnectionRefused, await ErrorOfAsync(peer, gone));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_UnixPathIsMissingOrNoSocket_HasTheErrorOfASocket(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        UnixDomainSocketEndPoint path = TransportServer.NewUnixEndPoint();
        Assert.Equal(await ErrorOfSocketAsync(path), await ErrorOfAsync(peer, path));

        await File.WriteAllTextAsync(path.ToString(), "no socket");
        Assert.Equal(await ErrorOfSocketAsync(path), await ErrorOfAsync(peer, path));
        File.Delete(path.ToString());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_ToAnAddressThatCannotBeReached_HasTheErrorOfASocket(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);

        // A broadcast, and an address of a link without the link.
        foreach (string address in new[] { "255.255.255.255", "fe80::1" })
        {
            IPEndPoint endPoint = new(IPAddress.Parse(address), 9);
            Assert.Equal(await ErrorOfSocketAsync(endPoint), await ErrorOfAsync(peer, endPoint));
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_NoAnswer_TimesOut(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, options => options.ConnectTimeout = TimeSpan.FromMilliseconds(200), backlog: 0);
        using Socket first = await peer.FillBacklogAsync();

        Assert.Equal(SocketError.TimedOut, await ErrorOfAsync(peer, peer.EndPoint));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_NameTakesTooLong_TimesOut(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(
            kind, options => options.ConnectTimeout = TimeSpan.FromMilliseconds(200), resolve: ResolveNeverAsync);

        Assert.Equal(SocketError.TimedOut, await ErrorOfAsync(peer, new DnsEndPoint("slow.test", 80)));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_NameHasNoAddress_IsNotFound(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, resolve: OutgoingPeer.Names());

        Assert.Equal(SocketError.HostNotFound, await ErrorOfAsync(peer, new DnsEndPoint("empty.test", 80)));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_CancelledBefore_IsCancelled(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        CancellationToken cancelled = new(canceled: true);

        await AssertCancelledAsync(peer.ConnectOnlyAsync(cancellationToken: cancelled), cancelled);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_CancelledWhileResolving_IsCancelled(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, resolve: ResolveNeverAsync);
        using CancellationTokenSource source = new();
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync(new DnsEndPoint("slow.test", 80), source.Token);

        await source.CancelAsync();

        await AssertCancelledAsync(connecting, source.Token);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_CancelledWhileConnecting_IsCancelled(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0);
        using Socket first = await peer.FillBacklogAsync();
        using CancellationTokenSource source = new();
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync(cancellationToken: source.Token);
        Assert.NotSame(connecting, await Task.WhenAny(connecting, new PeriodicTimer(Deadline.Pause).WaitForNextTickAsync().AsTask()));

        await source.CancelAsync();

        await AssertCancelledAsync(connecting, source.Token);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Connect_ToAnotherKindOfEndPoint_IsNotSupported(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);

        await Assert.ThrowsAsync<NotSupportedException>(() => peer.ConnectOnlyAsync(new FileHandleEndPoint(0, FileHandleType.Tcp)));
        await Assert.ThrowsAsync<ArgumentNullException>(() => peer.Factory.ConnectAsync(null!).InTime());
    }

    [Theory]
    [MemberData(nameof(Switches))]
    public async Task Connect_OptionsOfTheSocket_AreSet(TransportKind kind, bool isSet)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, options =>
        {
            options.NoDelay = isSet;
            options.KeepAliveTime = isSet ? TimeSpan.FromSeconds(6.5) : null;
        });
        await using ConnectionPair pair = await peer.ConnectAsync();
        Socket socket = pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket;

        Assert.Equal(isSet, socket.NoDelay);
        Assert.Equal(isSet ? 1 : 0, socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
        if (isSet)
        {
            Assert.Equal(7, socket.GetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime));
            Assert.Equal(7, socket.GetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval));
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Dispose_WhileConnecting_EndsTheConnect(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, backlog: 0);
        using Socket first = await peer.FillBacklogAsync();
        Task<ConnectionContext> connecting = peer.ConnectOnlyAsync();

        await peer.Factory.DisposeAsync().InTime();

        await Assert.ThrowsAsync<ObjectDisposedException>(() => connecting);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => peer.ConnectOnlyAsync());
        await peer.Factory.DisposeAsync().InTime();
    }

    private static EndPoint NewEndPoint(string family)
    {
        Assert.SkipWhen(family == "IPv6" && !Socket.OSSupportsIPv6, "This system has no IPv6.");
        return family switch
        {
            "IPv4" => new IPEndPoint(IPAddress.Loopback, 0),
            "IPv6" => new IPEndPoint(IPAddress.IPv6Loopback, 0),
            "Unix" => TransportServer.NewUnixEndPoint(),
            _ => new UnixDomainSocketEndPoint($"\0transport-{Guid.NewGuid():N}"),
        };
    }

    private static void DeleteFile(OutgoingPeer peer)
    {
        if (peer.EndPoint is UnixDomainSocketEndPoint && peer.EndPoint.ToString() is { } path && !path.StartsWith('@'))
        {
            File.Delete(path);
        }
    }

    private static async Task<IPAddress[]> ResolveNeverAsync(string host, AddressFamily family, CancellationToken cancellationToken)
    {
        await new TaskCompletionSource().Task.WaitAsync(cancellationToken);
        return [];
    }

    private static async Task<SocketError> ErrorOfAsync(OutgoingPeer peer, EndPoint endPoint) =>
        (await Assert.ThrowsAsync<SocketException>(() => peer.ConnectOnlyAsync(endPoint))).SocketErrorCode;

    private static async Task<SocketError> ErrorOfSocketAsync(EndPoint endPoint)
    {
        using Socket socket = new(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        return (await Assert.ThrowsAsync<SocketException>(() => socket.ConnectAsync(endPoint).InTime())).SocketErrorCode;
    }

    private static async Task AssertCancelledAsync(Task<ConnectionContext> connecting, CancellationToken token) =>
        Assert.Equal(token, (await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connecting)).CancellationToken);
}
