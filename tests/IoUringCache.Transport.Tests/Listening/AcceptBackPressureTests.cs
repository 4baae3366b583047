using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>An application that takes no connections leaves them in the kernel, and gets all of them when it does.</summary>
public sealed class AcceptBackPressureTests
{
    /// <summary>The state of a socket.</summary>
    private const string Listening = "0A";

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

    [Theory]
    [InlineData(TransportKind.ThreadPool)]
    [InlineData(TransportKind.Inline)]
    public async Task Accept_KernelRefuses_WaitsAndGoesOn(TransportKind kind)
    {
        Socket? listening = null;
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.CreateBoundListenSocket = endPoint => listening = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            options.LoopCount = 1;
        });

        // Every accept fails at once now, as it does where the process is out of descriptors.
        Stopwatch clock = Stopwatch.StartNew();
        listening!.Shutdown(SocketShutdown.Both);
        LogEntry entry = await server.Log.WaitForAsync(20);
        Assert.Equal(LogLevel.Warning, entry.Level);
        Assert.Contains(server.EndPoint.ToString()!, entry.Message, StringComparison.Ordinal);

        // It tries again in a while, not in a hurry: four tries have three pauses of 100 ms between them.
        await Deadline.UntilAsync(() => Pauses() >= 4, () => $"It tried {Pauses()} times.");
        Assert.True(clock.ElapsedMilliseconds >= 200, $"It tried {Pauses()} times in {clock.ElapsedMilliseconds} ms.");

        // The shutdown gave the port back, so listening again takes another one, which a view of the socket does not know by heart.
        listening.Listen(8);
        using Socket view = new(new SafeSocketHandle(listening.Handle, ownsHandle: false));
        await using (ConnectionPair pair = await server.ConnectAsync(to: view.LocalEndPoint))
        {
            await pair.Client.SendAllAsync("abc"u8.ToArray());
            Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        }

        // And unbinding does not wait for the pause.
        listening.Shutdown(SocketShutdown.Both);
        int before = Pauses();
        await Deadline.UntilAsync(() => Pauses() > before, () => "It did not notice.");
        await server.Listener.UnbindAsync().InTime();

        int Pauses() => server.Log.Entries.Count(entry => entry.Id.Id == 20);
    }

    [Fact]
    public async Task Dispose_WhileFull_ResetsWhatWasNotTaken()
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: options => options.Backlog = 1);
        using Socket first = await server.ConnectClientAsync();
        using Socket second = await server.ConnectClientAsync();
        await server.Listener.DisposeAsync().InTime();
        await first.AssertResetAsync();
        await second.AssertResetAsync();
    }

    /// <summary>Their clients may have sent requests, which a server that stops in order answers.</summary>
    [Fact]
    public async Task Unbind_WithConnectionsThatItHasAccepted_TheyCanStillBeTaken()
    {
        await using TransportServer server = await TransportServer.StartAsync();
        Socket[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.ConnectClientAsync())).InTime();
        int port = ((IPEndPoint)server.EndPoint).Port;
        await Deadline.UntilAsync(() => CountQueued(port) == 0, () => $"{CountQueued(port)} connections wait in the kernel.");

        await server.Listener.UnbindAsync().InTime();

        for (int i = 0; i < clients.Length; i++)
        {
            ConnectionContext? connection = await server.AcceptAsync();
            Assert.NotNull(connection);
            await connection.Transport.Output.WriteAsync("abc"u8.ToArray()).InTime();
            await connection.DisposeAsync().InTime();
        }

        Assert.Null(await server.AcceptAsync());
        foreach (Socket client in clients)
        {
            Assert.Equal("abc"u8.ToArray(), await client.ReceiveToEndAsync());
            client.Dispose();
        }
    }

    /// <summary>Connections that the kernel has for a listening socket and that are not accepted (proc_pid_net(5)).</summary>
    private static int CountQueued(int port) => File.ReadLines("/proc/self/net/tcp")
        .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        .Where(fields => fields[1].EndsWith($":{port:X4}", StringComparison.Ordinal) && fields[3] == Listening)
        .Sum(static fields => Convert.ToInt32(fields[4].Split(':')[1], 16));
}
