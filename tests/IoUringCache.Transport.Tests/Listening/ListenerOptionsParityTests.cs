using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>The options that both transports have: equal defaults, equal effects.</summary>
public sealed class ListenerOptionsParityTests
{
    private static readonly Dictionary<string, object?> s_defaults = new()
    {
        [nameof(SocketTransportOptions.Backlog)] = 512,
        [nameof(SocketTransportOptions.NoDelay)] = true,
        [nameof(SocketTransportOptions.MaxReadBufferSize)] = 1024L * 1024,
        [nameof(SocketTransportOptions.MaxWriteBufferSize)] = 64L * 1024,
        [nameof(SocketTransportOptions.CreateBoundListenSocket)] =
            (Func<System.Net.EndPoint, Socket>)SocketTransportOptions.CreateDefaultBoundListenSocket,
    };

    public static TheoryData<TransportKind, string> Options => Transports.AllWith(s_defaults.Keys);

    public static TheoryData<TransportKind, bool> Bools => Transports.AllWith(true, false);

    public static TheoryData<TransportKind, long?> NoLimits => Transports.AllWith<long?>(null, 0);

    [Theory]
    [MemberData(nameof(Options))]
    public void Default_OfOption_IsTheDocumentedOne(TransportKind kind, string option)
    {
        object options = kind == TransportKind.Sockets ? new SocketTransportOptions() : new IoUringTransportOptions();
        Assert.Equal(s_defaults[option], options.GetType().GetProperty(option)!.GetValue(options));
    }

    [Theory]
    [MemberData(nameof(Bools))]
    public async Task NoDelay_OfOptions_IsInherited(TransportKind kind, bool noDelay)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.NoDelay = noDelay);
        await using ConnectionPair pair = await server.ConnectAsync();
        Assert.Equal(noDelay, pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.NoDelay);
    }

    [Theory]
    [MemberData(nameof(NoLimits))]
    public async Task MaxReadBufferSize_WithoutLimit_NeverPauses(TransportKind kind, long? limit)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = limit);
        await using ConnectionPair pair = await server.ConnectAsync();

        // Nobody reads, and all of it arrives.
        byte[] sent = Payload.Of(16 * 1024 * 1024);
        await pair.Client.SendAllAsync(sent).InTime();
        Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
        Assert.DoesNotContain(server.Log.Entries, entry => entry.Id.Id == 4);
    }

    [Theory]
    [MemberData(nameof(NoLimits))]
    public async Task MaxWriteBufferSize_WithoutLimit_FlushNeverWaits(TransportKind kind, long? limit)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxWriteBufferSize = limit);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        byte[] sent = Payload.Of(16 * 1024 * 1024);
        Assert.False((await pair.Output.WriteAsync(sent).InTime()).IsCompleted);
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Limits_OfOneByte_EverythingStillPasses(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.MaxReadBufferSize = 1;
            options.MaxWriteBufferSize = 1;
        });
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);
        byte[] sent = Payload.Of(200_000);
        using (Socket client = await server.ConnectClientAsync())
        {
            Task<byte[]> receiving = client.ReceiveToEndAsync();
            await client.SendAllAsync(sent);
            client.Shutdown(SocketShutdown.Send);
            Payload.AssertEqual(sent, await receiving.InTime());
        }

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CreateBoundListenSocket_OfOptions_MakesTheSocket(TransportKind kind)
    {
        List<Socket> made = [];
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.CreateBoundListenSocket = endPoint =>
        {
            Socket socket = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            made.Add(socket);
            return socket;
        });
        Assert.Equal(server.EndPoint, Assert.Single(made).LocalEndPoint);
        await using ConnectionPair pair = await server.ConnectAsync();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CreateBoundListenSocket_Throws_BindThrowsIt(TransportKind kind)
    {
        InvalidOperationException thrown = new("no socket today");
        InvalidOperationException exception = await Assert.ThrowsAsync<InvalidOperationException>(
            () => TransportServer.StartAsync(kind, options => options.CreateBoundListenSocket = _ => throw thrown));
        Assert.Same(thrown, exception);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task CreateBoundListenSocket_FindsAddressInUse_BindThrowsAddressInUse(TransportKind kind)
    {
        await Assert.ThrowsAsync<AddressInUseException>(() => TransportServer.StartAsync(
            kind, options => options.CreateBoundListenSocket = _ => throw new SocketException((int)SocketError.AddressAlreadyInUse)));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Options_OfListenSocket_AreInheritedByConnections(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.CreateBoundListenSocket = endPoint =>
        {
            Socket socket = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
            return socket;
        });
        await using ConnectionPair pair = await server.ConnectAsync();
        Socket connection = pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket;
        Assert.Equal(1, connection.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
    }
}
