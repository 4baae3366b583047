using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Listening sockets that somebody else made, as systemd hands them in: they are served, and stay the property of their maker.</summary>
public sealed class FileHandleParityTests
{
    public static TheoryData<TransportKind, FileHandleType> Types => Transports.AllWith(Enum.GetValues<FileHandleType>());

    [Theory]
    [MemberData(nameof(Types))]
    public async Task FileHandle_OfAnyDeclaredType_ServesWhatTheSocketIs(TransportKind kind, FileHandleType type)
    {
        using Socket handedIn = ListenOnLoopback();
        await using TransportServer server = await StartAsync(kind, handedIn, type);
        Assert.Equal(handedIn.LocalEndPoint, server.EndPoint);
        await AssertServesAsync(server, handedIn.LocalEndPoint!);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_OfUnixSocket_ServesIt(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        using Socket handedIn = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        handedIn.Bind(endPoint);
        handedIn.Listen();
        await using TransportServer server = await StartAsync(kind, handedIn, FileHandleType.Pipe);
        Assert.Equal(endPoint.ToString(), server.EndPoint.ToString());
        await AssertServesAsync(server, endPoint);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_OfSocketThatDoesNotListenYet_ListensAndServes(TransportKind kind)
    {
        using Socket handedIn = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        handedIn.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using TransportServer server = await StartAsync(kind, handedIn);
        await AssertServesAsync(server, handedIn.LocalEndPoint!);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_OfNonBlockingSocket_ServesIt(TransportKind kind)
    {
        using Socket handedIn = ListenOnLoopback();
        handedIn.Blocking = false;
        await using TransportServer server = await StartAsync(kind, handedIn);
        await AssertServesAsync(server, handedIn.LocalEndPoint!);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_WithClientsWaitingInTheKernel_TheyAreServed(TransportKind kind)
    {
        using Socket handedIn = ListenOnLoopback();
        using Socket early = new(SocketType.Stream, ProtocolType.Tcp);
        await early.ConnectAsync(handedIn.LocalEndPoint!).InTime();
        await early.SendAllAsync("early"u8.ToArray());
        await using TransportServer server = await StartAsync(kind, handedIn);
        await using ConnectionPair pair = new(early, (await server.AcceptAsync())!);
        Assert.Equal("early"u8.ToArray(), await pair.Input.TakeAsync(5));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_AfterDispose_StaysOpenAndListens(TransportKind kind)
    {
        using Socket handedIn = ListenOnLoopback();
        await using (TransportServer server = await StartAsync(kind, handedIn))
        {
            await AssertServesAsync(server, handedIn.LocalEndPoint!);
        }

        using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(handedIn.LocalEndPoint!).InTime();
        using Socket accepted = await handedIn.AcceptAsync().InTime();
        await client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await accepted.ReceiveExactlyAsync(3));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_BoundAgainAfterDispose_ServesAgain(TransportKind kind)
    {
        using Socket handedIn = ListenOnLoopback();
        for (int round = 0; round < 3; round++)
        {
            await using TransportServer server = await StartAsync(kind, handedIn);
            await AssertServesAsync(server, handedIn.LocalEndPoint!);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task FileHandle_OfNoSocket_BindThrowsSocketException(TransportKind kind)
    {
        using FileStream file = File.OpenRead(typeof(FileHandleParityTests).Assembly.Location);
        SocketException exception = await Assert.ThrowsAsync<SocketException>(() => TransportServer.StartAsync(
            kind, endPoint: new FileHandleEndPoint((ulong)file.SafeFileHandle.DangerousGetHandle(), FileHandleType.Auto)));
        Assert.Equal(SocketError.NotSocket, exception.SocketErrorCode);
    }

    private static Socket ListenOnLoopback()
    {
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen();
        return socket;
    }

    private static Task<TransportServer> StartAsync(TransportKind kind, Socket handedIn, FileHandleType type = FileHandleType.Auto) =>
        TransportServer.StartAsync(kind, endPoint: new FileHandleEndPoint((ulong)handedIn.Handle, type));

    private static async Task AssertServesAsync(TransportServer server, EndPoint to)
    {
        await using ConnectionPair pair = await server.ConnectAsync(to: to);
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        await pair.Output.WriteAsync("def"u8.ToArray()).InTime();
        Assert.Equal("def"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }
}
