using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>Listening sockets that somebody else made and shares, as a service manager does.</summary>
public sealed class HandedInSocketTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task FileHandle_OfNonBlockingSocket_AcceptsAndStaysNonBlocking(TransportKind kind)
    {
        using Socket handedIn = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { Blocking = false };
        handedIn.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        handedIn.Listen();
        await using TransportServer server = await TransportServer.StartAsync(
            kind, endPoint: new FileHandleEndPoint((ulong)handedIn.Handle, FileHandleType.Auto));
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);
        for (int i = 0; i < 3; i++)
        {
            using Socket client = await server.ConnectClientAsync(to: handedIn.LocalEndPoint);
            await client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await client.ReceiveExactlyAsync(3));
        }

        // The flag belongs to the open socket, which the other holder uses as well: an accept of its own must not block now.
        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
        Assert.True(IsNonBlocking(handedIn));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task FileHandle_AfterUnbind_StillListensForItsOwner(TransportKind kind)
    {
        using Socket handedIn = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        handedIn.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        handedIn.Listen();
        await using (TransportServer server = await TransportServer.StartAsync(
            kind, endPoint: new FileHandleEndPoint((ulong)handedIn.Handle, FileHandleType.Auto)))
        {
            await using ConnectionPair pair = await server.ConnectAsync(to: handedIn.LocalEndPoint);
            await server.Listener.UnbindAsync().InTime();
        }

        using Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(handedIn.LocalEndPoint!).InTime();
        using Socket accepted = await handedIn.AcceptAsync().InTime();
        Assert.Equal(client.LocalEndPoint, accepted.RemoteEndPoint);
    }

    /// <summary>As the kernel has it: O_NONBLOCK is 4000 in octal.</summary>
    private static bool IsNonBlocking(Socket socket)
    {
        string flags = File.ReadLines($"/proc/self/fdinfo/{socket.Handle}").First(line => line.StartsWith("flags:", StringComparison.Ordinal));
        return (Convert.ToInt32(flags["flags:".Length..].Trim(), 8) & Convert.ToInt32("4000", 8)) != 0;
    }
}
