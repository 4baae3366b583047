using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Accepting, unbinding and disposing in every order that a host may choose.</summary>
public sealed class ListenerLifeParityTests
{
    private static readonly Dictionary<string, Func<TransportServer, Task>> s_ends = new()
    {
        ["unbind"] = server => server.Listener.UnbindAsync().InTime(),
        ["dispose without unbind"] = server => server.Listener.DisposeAsync().InTime(),
        ["unbind, then dispose"] = async server =>
        {
            await server.Listener.UnbindAsync().InTime();
            await server.Listener.DisposeAsync().InTime();
        },
        ["dispose, then unbind"] = async server =>
        {
            await server.Listener.DisposeAsync().InTime();
            await server.Listener.UnbindAsync().InTime();
        },
        ["unbind twice at once"] = async server =>
        {
            Task first = server.Listener.UnbindAsync().InTime();
            await server.Listener.UnbindAsync().InTime();
            await first;
        },
    };

    public static TheoryData<TransportKind, string> Ends => Transports.AllWith(s_ends.Keys);

    public static TheoryData<TransportKind, int> Counts => Transports.AllWith(1, 2, 100);

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task Listener_EndsWithPendingAccept_AcceptsReturnNullAndClientsAreRefused(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        EndPoint endPoint = server.EndPoint;
        Task<ConnectionContext?> accepting = server.AcceptAsync();
        await s_ends[end](server);
        Assert.Null(await accepting);
        Assert.Null(await server.AcceptAsync());
        await AssertRefusedAsync(endPoint);
    }

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task Listener_EndsWithUntakenClients_TheySeeReset(TransportKind kind, string end)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        using Socket silent = await server.ConnectClientAsync();
        using Socket talking = await server.ConnectClientAsync();
        await talking.SendAllAsync("hello"u8.ToArray());
        await s_ends[end](server);

        // Until then they may have been accepted, and wait to be taken.
        await server.Listener.DisposeAsync().InTime();
        await silent.AssertResetAsync();
        await talking.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task Listener_Ended_PortCanBeBoundAtOnce(TransportKind kind, string end)
    {
        EndPoint endPoint;
        await using (TransportServer server = await TransportServer.StartAsync(kind))
        {
            // A connection that the server ended first, whose address the kernel keeps for a minute.
            endPoint = server.EndPoint;
            await using ConnectionPair pair = await server.ConnectAsync();
            await pair.Server.DisposeAsync().InTime();
            Assert.Empty(await pair.Client.ReceiveToEndAsync());
            pair.Client.Dispose();
            await s_ends[end](server);
        }

        await using TransportServer again = await TransportServer.StartAsync(kind, endPoint: endPoint);
        Assert.Equal(endPoint, again.EndPoint);
        await using ConnectionPair next = await again.ConnectAsync();
        await next.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await next.Input.TakeAsync(3));
    }

    [Theory]
    [MemberData(nameof(Counts))]
    public async Task Accept_OfClients_TakesEachOnce(TransportKind kind, int clients)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Socket[] connected = await Task.WhenAll(Enumerable.Range(0, clients).Select(_ => server.ConnectClientAsync())).InTime();
        HashSet<EndPoint?> remotes = [];
        foreach (Socket _ in connected)
        {
            ConnectionContext? connection = await server.AcceptAsync();
            Assert.True(remotes.Add(connection!.RemoteEndPoint));
            await connection.DisposeAsync().InTime();
        }

        Assert.Equal(connected.Select(client => client.LocalEndPoint).ToHashSet(), remotes);
        Array.ForEach(connected, client => client.Dispose());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Accept_BegunBeforeTheClientConnects_TakesIt(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        Task<ConnectionContext?> accepting = server.AcceptAsync();
        Assert.False(accepting.IsCompleted);
        using Socket client = await server.ConnectClientAsync();
        ConnectionContext? connection = await accepting;
        Assert.Equal(client.LocalEndPoint, connection!.RemoteEndPoint);
        await connection.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Accept_TokenCancelled_ThrowsAndNextAcceptWorks(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        using CancellationTokenSource source = new();
        Task<ConnectionContext?> accepting = server.Listener.AcceptAsync(source.Token).AsTask();
        await source.CancelAsync().InTime();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => accepting.InTime());
        await using ConnectionPair pair = await server.ConnectAsync();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Accept_OfClientThatSentAndLeft_HasItsBytesAndItsEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        using (Socket client = await server.ConnectClientAsync())
        {
            await client.SendAllAsync("farewell"u8.ToArray());
        }

        ConnectionContext? connection = await server.AcceptAsync();
        Assert.Equal("farewell"u8.ToArray(), await connection!.Transport.Input.TakeToEndAsync());
        await connection.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Unbind_OfUnixPathWithUntakenClient_ClientSeesTheEnd(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, endPoint: TransportServer.NewUnixEndPoint());
        using Socket client = await server.ConnectClientAsync();
        await server.Listener.UnbindAsync().InTime();
        await server.Listener.DisposeAsync().InTime();

        // A Unix socket has no reset of its own: the client sees an end, or a reset if it was still in the kernel's queue.
        try
        {
            Assert.Equal(0, await client.ReceiveAsync(new byte[1]).InTime());
        }
        catch (SocketException exception)
        {
            Assert.Equal(SocketError.ConnectionReset, exception.SocketErrorCode);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Unbind_WithConnectionThatWaitsToFlush_ItIsSentWhenTheClientReads(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        byte[] sent = Payload.Of(8 * 1024 * 1024);
        Task flushing = pair.Output.WriteAsync(sent).InTime();
        await server.Listener.UnbindAsync().InTime();
        Task disposing = pair.Server.DisposeAsync().InTime();
        Payload.AssertEqual(sent, await pair.Client.ReceiveToEndAsync());
        await disposing;
        await flushing;
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Bind_WithCancelledToken_BindsAllTheSame(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        IConnectionListener listener =
            await server.Factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0), new CancellationToken(canceled: true)).InTime();
        await listener.UnbindAsync(new CancellationToken(canceled: true)).InTime();
        await listener.DisposeAsync().InTime();
    }

    private static async Task AssertRefusedAsync(EndPoint endPoint)
    {
        using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        SocketException exception = await Assert.ThrowsAsync<SocketException>(() => client.ConnectAsync(endPoint).InTime());
        Assert.Equal(SocketError.ConnectionRefused, exception.SocketErrorCode);
    }
}
