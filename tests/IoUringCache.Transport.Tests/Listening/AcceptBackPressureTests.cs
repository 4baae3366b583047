using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>An application that takes no connections leaves them in the kernel, and gets all of them when it does.</summary>
public sealed class AcceptBackPressureTests
{
    [Theory]
    [InlineData(1, 40)]
    [InlineData(8, 100)]
    public async Task Accept_LeftAlone_StopsAndGoesOn(int backlog, int clientCount)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: options => options.Backlog = backlog);
        Task<Socket[]> connecting = Task.WhenAll(Enumerable.Range(0, clientCount).Select(_ => server.ConnectClientAsync()));

        // Round by round: the queue fills, is taken down to nothing, fills again.
        HashSet<string> remotes = [];
        for (int i = 0; i < clientCount; i++)
        {
            ConnectionContext? connection = await server.AcceptAsync();
            Assert.NotNull(connection);
            Assert.True(remotes.Add(connection.RemoteEndPoint!.ToString()!));
            await connection.DisposeAsync().InTime();
        }

        foreach (Socket client in await connecting.InTime())
        {
            client.Dispose();
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
