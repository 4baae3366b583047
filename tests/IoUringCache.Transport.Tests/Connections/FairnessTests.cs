using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>More connections at work than receive buffers to start with: all get buffers, and none is passed by others again and again.</summary>
public sealed class FairnessTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    /// <summary>
    /// With too few buffers for all, the ring of Adaptive lets whoever is armed take what comes back in any system call or interruption, so
    /// only enough of them can be asked to be fair.
    /// </summary>
    public static TheoryData<TransportKind, int> MostBuffers => new()
    {
        { TransportKind.ThreadPool, 64 },
        { TransportKind.ThreadPool, 1024 },
        { TransportKind.Inline, 64 },
        { TransportKind.Inline, 1024 },
        { TransportKind.Adaptive, 1024 },
    };

    [Theory]
    [MemberData(nameof(MostBuffers))]
    public async Task Connections_ManyMoreThanBuffers_AreServedInTurn(TransportKind kind, int mostBuffers)
    {
        const int Clients = 400;
        const int Requests = 20 * Clients;
        // Once each is fair. A thread of the pool that loses the processor with a request in hand is passed some times more (4.4 were seen
        // beside builds); with buffers that came back to whoever was armed it was 12 times and more.
        const int MaxPassedBy = 8 * Clients;
        await using TransportServer server = await TransportServer.StartAsync(kind, options =>
        {
            options.LoopCount = 1;
            options.Advanced.ReceiveBufferCount = mostBuffers;
        });
        List<ConnectionPair> pairs = await ConnectAsync(server, Clients);
        Task[] serving = [.. pairs.Select(ServeAsync)];

        // One thread plays all clients and answers each response at once by the next request. What counts is how many requests of others
        // were sent between a request and its response, so a slow machine changes nothing. It waits for one response at a time, not for ever.
        int mostPassedBy = await Task.Run(() => PlayClients(pairs, Requests));

        Assert.InRange(mostPassedBy, 1, MaxPassedBy);
        pairs.ForEach(pair => pair.Client.Shutdown(SocketShutdown.Send));
        await Task.WhenAll(serving).InTime();
        await DisposeAsync(pairs);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Connections_HoldMoreThanTheBuffersAtStart_GetMore(TransportKind kind)
    {
        const int Clients = 1500;
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.LoopCount = 1);
        List<ConnectionPair> pairs = await ConnectAsync(server, Clients);

        HashSet<int> held = [];
        foreach (ConnectionPair pair in pairs)
        {
            await pair.Client.SendAllAsync(Payload.Of(100));
            ReadResult result = await pair.Input.ReadAsync().InTime();
            held.Add(((ReceivedSegment)result.Buffer.Start.GetObject()!).BufferId);
        }

        Assert.Equal(Clients, held.Count);
        await DisposeAsync(pairs);
    }

    /// <summary>A handler that needs long enough for the loop to submit what earlier ones of the same turn have flushed.</summary>
    private static async Task ServeAsync(ConnectionPair pair)
    {
        ReadResult result = await pair.Input.ReadAsync().ConfigureAwait(false);
        while (!result.IsCompleted)
        {
            pair.Input.AdvanceTo(result.Buffer.End);
            long end = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 20_000);
            while (Stopwatch.GetTimestamp() < end)
            {
                Thread.SpinWait(10);
            }

            await pair.Output.WriteAsync(new byte[1]).ConfigureAwait(false);
            result = await pair.Input.ReadAsync().ConfigureAwait(false);
        }
    }

    private static int PlayClients(List<ConnectionPair> pairs, int requests)
    {
        byte[] octet = new byte[1];
        Dictionary<Socket, int> sentAt = [];
        int sent = 0;
        foreach (ConnectionPair pair in pairs)
        {
            Send(pair.Client);
        }

        int mostPassedBy = 0;
        while (sent < requests)
        {
            List<Socket> ready = [.. sentAt.Keys];
            Socket.Select(ready, null, null, Deadline.Limit);
            Assert.NotEmpty(ready);
            foreach (Socket client in ready)
            {
                Assert.Equal(1, client.Receive(octet));
                mostPassedBy = Math.Max(mostPassedBy, sent - sentAt[client]);
                Send(client);
            }
        }

        return mostPassedBy;

        void Send(Socket client)
        {
            client.Send(octet);
            sentAt[client] = sent++;
        }
    }

    private static async Task<List<ConnectionPair>> ConnectAsync(TransportServer server, int count)
    {
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < count; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        return pairs;
    }

    private static async Task DisposeAsync(List<ConnectionPair> pairs)
    {
        foreach (ConnectionPair pair in pairs)
        {
            await pair.DisposeAsync();
        }
    }
}
