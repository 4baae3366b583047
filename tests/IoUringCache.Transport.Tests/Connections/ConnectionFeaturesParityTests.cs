using System.Buffers;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>What middleware finds on a connection.</summary>
public sealed class ConnectionFeaturesParityTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Features_OfConnection_AgreeWithTheContext(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IFeatureCollection features = pair.Server.Features;

        Assert.Equal(pair.Server.ConnectionId, features.GetRequiredFeature<IConnectionIdFeature>().ConnectionId);
        Assert.Same(pair.Server.Transport, features.GetRequiredFeature<IConnectionTransportFeature>().Transport);
        Assert.Same(pair.Server.Items, features.GetRequiredFeature<IConnectionItemsFeature>().Items);
        Assert.Equal(pair.Server.ConnectionClosed, features.GetRequiredFeature<IConnectionLifetimeFeature>().ConnectionClosed);
        Assert.Null(features.Get<ITlsConnectionFeature>());
        using IMemoryOwner<byte> memory = features.GetRequiredFeature<IMemoryPoolFeature>().MemoryPool.Rent(100);
        Assert.True(memory.Memory.Length >= 100);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference("The transport has an IConnectionEndPointFeature; the Sockets transport has none.")]
    public async Task EndPointFeature_OfConnection_AgreesWithTheContext(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IConnectionEndPointFeature endPoints = pair.Server.Features.GetRequiredFeature<IConnectionEndPointFeature>();
        Assert.Equal(pair.Server.RemoteEndPoint, endPoints.RemoteEndPoint);
        Assert.Equal(pair.Server.LocalEndPoint, endPoints.LocalEndPoint);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Feature_SetThroughOneView_ShowsInTheOther(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Features.GetRequiredFeature<IConnectionIdFeature>().ConnectionId = "mine";
        Assert.Equal("mine", pair.Server.ConnectionId);
        pair.Server.Items["key"] = "value";
        Assert.Equal("value", pair.Server.Features.GetRequiredFeature<IConnectionItemsFeature>().Items["key"]);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Feature_SetAndCleared_CountsInRevision(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IFeatureCollection features = pair.Server.Features;
        int revision = features.Revision;

        features.Set("a feature");
        Assert.Equal("a feature", features.Get<string>());
        Assert.NotEqual(revision, features.Revision);
        Assert.Contains(features, entry => entry.Key == typeof(string));
        features.Set<string>(null);
        Assert.Null(features.Get<string>());
        Assert.DoesNotContain(features, entry => entry.Key == typeof(string));

        // One of the connection's own can be replaced and taken away.
        features.Set<IMemoryPoolFeature>(null);
        Assert.Null(features.Get<IMemoryPoolFeature>());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task SocketFeature_Options_AreTheConnections(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Socket socket = pair.Server.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket;
        Assert.Equal(ProtocolType.Tcp, socket.ProtocolType);
        Assert.Equal(pair.Client.LocalEndPoint, socket.RemoteEndPoint);
        Assert.Equal(pair.Client.RemoteEndPoint, socket.LocalEndPoint);
        socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        Assert.Equal(1, socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
        Assert.Same(socket, pair.Server.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket);

        // Looking at the socket changes nothing for the data.
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        await pair.Output.WriteAsync("def"u8.ToArray()).InTime();
        await pair.Server.DisposeAsync().InTime();
        Assert.Equal("def"u8.ToArray(), await pair.Client.ReceiveToEndAsync());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task SocketFeature_AfterAbort_ClientStillSeesReset(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        _ = pair.Server.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket;
        pair.Server.Abort();
        await pair.Server.DisposeAsync().InTime();
        await pair.Client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ConnectionIds_OfConnections_Differ(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair first = await server.ConnectAsync();
        await using ConnectionPair second = await server.ConnectAsync();
        Assert.NotEqual(first.Server.ConnectionId, second.Server.ConnectionId);
        Assert.Equal(first.Server.ConnectionId, first.Server.ConnectionId);
        Assert.Equal(13, first.Server.ConnectionId.Length);
    }
}
