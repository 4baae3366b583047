using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Each feature of a connection: whether it is there, what setting it does, and what the socket behind it says.</summary>
public sealed class FeatureParityTests
{
    private static readonly Dictionary<string, Type> s_present = new Type[]
    {
        typeof(IConnectionIdFeature),
        typeof(IConnectionTransportFeature),
        typeof(IConnectionItemsFeature),
        typeof(IConnectionLifetimeFeature),
        typeof(IMemoryPoolFeature),
        typeof(IConnectionSocketFeature),
    }.ToDictionary(type => type.Name);

    private static readonly Dictionary<string, Type> s_absent = new Type[]
    {
        typeof(ITlsConnectionFeature),
        typeof(ITlsHandshakeFeature),
        typeof(IConnectionHeartbeatFeature),
        typeof(IConnectionLifetimeNotificationFeature),
        typeof(IConnectionMetricsTagsFeature),
        typeof(IPersistentStateFeature),
        typeof(IProtocolErrorCodeFeature),
        typeof(IStreamDirectionFeature),
        typeof(IStreamIdFeature),
        typeof(IStreamAbortFeature),
    }.ToDictionary(type => type.Name);

    public static TheoryData<TransportKind, string> Present => Transports.AllWith(s_present.Keys);

    public static TheoryData<TransportKind, string> Absent => Transports.AllWith(s_absent.Keys);

    [Theory]
    [MemberData(nameof(Present))]
    public async Task Feature_OfTheTransport_IsThereAndCanBeTakenAway(TransportKind kind, string feature)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Type type = s_present[feature];
        IFeatureCollection features = pair.Server.Features;
        Assert.False(features.IsReadOnly);
        Assert.IsType(type, features[type], exactMatch: false);
        Assert.Contains(features, entry => entry.Key == type && ReferenceEquals(entry.Value, features[type]));
        features[type] = null;
        Assert.Null(features[type]);
        Assert.DoesNotContain(features, entry => entry.Key == type);
    }

    [Theory]
    [MemberData(nameof(Absent))]
    public async Task Feature_OfOtherLayers_IsNotThereAndCanBeSet(TransportKind kind, string feature)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Type type = s_absent[feature];
        IFeatureCollection features = pair.Server.Features;
        Assert.Null(features[type]);
        Assert.DoesNotContain(features, entry => entry.Key == type);
        object own = DispatchProxy.Create(type, typeof(EmptyProxy));
        features[type] = own;
        Assert.Same(own, features[type]);
        Assert.Contains(features, entry => entry.Key == type);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task TransportFeature_Set_ReplacesTheContextsTransport(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Pipe pipe = new();
        DuplexPipe own = new(pipe.Reader, pipe.Writer);
        pair.Server.Features.GetRequiredFeature<IConnectionTransportFeature>().Transport = own;
        Assert.Same(own, pair.Server.Transport);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ItemsFeature_Set_ReplacesTheContextsItems(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Dictionary<object, object?> own = new() { ["key"] = "value" };
        pair.Server.Features.GetRequiredFeature<IConnectionItemsFeature>().Items = own;
        Assert.Same(own, pair.Server.Items);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task LifetimeFeature_ConnectionClosedSet_ReplacesTheContexts(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        using CancellationTokenSource source = new();
        pair.Server.Features.GetRequiredFeature<IConnectionLifetimeFeature>().ConnectionClosed = source.Token;
        Assert.Equal(source.Token, pair.Server.ConnectionClosed);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task IdFeature_Replaced_LeavesTheContextsId(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        string id = pair.Server.ConnectionId;
        OwnId own = new() { ConnectionId = "own" };
        pair.Server.Features.Set<IConnectionIdFeature>(own);
        Assert.Same(own, pair.Server.Features.Get<IConnectionIdFeature>());
        Assert.Equal(id, pair.Server.ConnectionId);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task EndPoints_Set_AreWhatTheContextSays(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IPEndPoint forwarded = new(IPAddress.Parse("192.0.2.1"), 80);
        pair.Server.RemoteEndPoint = forwarded;
        pair.Server.LocalEndPoint = forwarded;
        Assert.Same(forwarded, pair.Server.RemoteEndPoint);
        Assert.Same(forwarded, pair.Server.LocalEndPoint);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task SocketFeature_OfUnixConnection_IsAUnixSocket(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: TransportServer.NewUnixEndPoint());
        await using ConnectionPair pair = await server.ConnectAsync();
        Socket socket = pair.Server.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket;
        Assert.Equal(AddressFamily.Unix, socket.AddressFamily);
        Assert.Equal(SocketType.Stream, socket.SocketType);
        Assert.True(socket.Connected);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task SocketFeature_BufferSizeSet_ReachesTheKernel(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Socket socket = pair.Server.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket;
        socket.SendBufferSize = 64 * 1024;
        socket.NoDelay = false;
        Assert.Equal(2 * 64 * 1024, socket.SendBufferSize); // The kernel doubles it for its own needs.
        Assert.False(socket.NoDelay);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task SocketFeature_AfterTheEnd_SocketIsDisposed(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair used = await server.ConnectAsync();
        await using ConnectionPair unused = await server.ConnectAsync();
        IConnectionSocketFeature usedFeature = used.Server.Features.GetRequiredFeature<IConnectionSocketFeature>();
        IConnectionSocketFeature unusedFeature = unused.Server.Features.GetRequiredFeature<IConnectionSocketFeature>();
        Socket socket = usedFeature.Socket;
        await used.Server.DisposeAsync().InTime();
        await unused.Server.DisposeAsync().InTime();
        Assert.Throws<ObjectDisposedException>(() => socket.NoDelay);
        Assert.Throws<ObjectDisposedException>(() => unusedFeature.Socket.NoDelay);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task ConnectionId_OfConnections_CountsUp(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        string last = "";
        for (int i = 0; i < 5; i++)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            Assert.Matches("^[0-9A-V]{13}$", pair.Server.ConnectionId);
            Assert.True(string.CompareOrdinal(pair.Server.ConnectionId, last) > 0);
            last = pair.Server.ConnectionId;
        }
    }

    /// <summary>Stands for the feature of another layer.</summary>
    public class EmptyProxy : DispatchProxy
    {
        protected override object? Invoke(MethodInfo? targetMethod, object?[]? args) => null;
    }

    private sealed record DuplexPipe(PipeReader Input, PipeWriter Output) : IDuplexPipe;

    private sealed class OwnId : IConnectionIdFeature
    {
        public required string ConnectionId { get; set; }
    }
}
