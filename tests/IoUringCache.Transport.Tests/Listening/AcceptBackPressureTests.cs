using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>An application that takes no connections leaves them in the kernel, and gets all of them when it does.</summary>
public sealed class AcceptBackPressureTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(8)]
    public async Task Accept_LeftAlone_StopsAndGoesOn(int backlog)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: options => options.Backlog = backlog);

        // Twice the limit is what the transport and the kernel hold together; more clients would wait for a second to try again.
        for (int round = 0; round < 10; round++)
        {
            HashSet<string> remotes = [];
            List<Socket> clients = [];
            for (int i = 0; i < 2 * backlog; i++)
            {
                clients.Add(await server.ConnectClientAsync());
            }

            foreach (Socket client in clients)
            {
                ConnectionContext? connection = await server.AcceptAsync();
                Assert.NotNull(connection);
                Assert.True(remotes.Add(connection.RemoteEndPoint!.ToString()!));
                await connection.DisposeAsync().InTime();
                client.Dispose();
            }
        }
    }

    [Fact]
    public async Task Unbind_WhileFull_ResetsWhatWasNotTaken()
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: options => options.Backlog = 1);
        using Socket first = await server.ConnectClientAsync();
        using Socket second = await server.ConnectClientAsync();
        await server.Listener.UnbindAsync().InTime();
        await first.AssertResetAsync();
        await second.AssertResetAsync();
    }
}
