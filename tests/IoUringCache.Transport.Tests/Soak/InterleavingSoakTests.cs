using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Soak;

/// <summary>
/// Random interleavings of what a client and an application may do to a connection, on rings and buffers so small that they run out.
/// Whatever happens: nothing hangs, both sides see exact prefixes, and everything is given back.
/// </summary>
public sealed class InterleavingSoakTests
{
    private const int AtOnce = 16;
    private const int MaxBytes = 40_000;

    private static readonly TimeSpan s_budget = TimeSpan.FromSeconds(4);

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Interleavings_OfEverything_KeepTheRules(TransportKind kind)
    {
        int seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper!.WriteLine($"seed {seed}");
        await RunAsync(kind, seed, rounds: 1);
        int descriptors = ProcessState.DescriptorCount;
        await RunAsync(kind, seed, rounds: 100);

        await ProcessState.LoopsEndedAsync();
        await Deadline.UntilAsync(
            () => ProcessState.DescriptorCount <= descriptors,
            () => $"seed {seed}: {ProcessState.DescriptorCount} descriptors are open, {descriptors} were before.");
    }

    private static async Task RunAsync(TransportKind kind, int seed, int rounds)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, SetTiny);
        EventLoopSettings settings = new(
            1, 8, 2, 512, Transports.SchedulingOf(kind));
        EventLoopGroup shared = await EventLoopGroup.AcquireAsync(settings).InTime();
        Stopwatch clock = Stopwatch.StartNew();
        for (int round = 0; round < rounds && clock.Elapsed < s_budget; round++)
        {
            List<Task> connections = [];
            for (int i = 0; i < AtOnce; i++)
            {
                ConnectionPair pair = await server.ConnectAsync();
                int connectionSeed = HashCode.Combine(seed, round, i);
                connections.Add(Task.Run(() => RunAsync(pair, connectionSeed)));
            }

            await Task.WhenAll(connections).InTime();
            Assert.False(shared.Next().ReceiveBuffers.IsScarce, $"seed {seed}, round {round}: buffers are missing.");
        }

        // The loop is none the worse: a whole exchange still works.
        await using (ConnectionPair pair = await server.ConnectAsync())
        {
            byte[] sent = Payload.Of(MaxBytes);
            Task sending = pair.Client.SendAllAsync(sent);
            Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
            await sending;
        }

        await shared.ReleaseAsync().InTime();
    }

    private static async Task RunAsync(ConnectionPair pair, int seed)
    {
        byte[] upload = Payload.Of(MaxBytes, seed);
        byte[] download = Payload.Of(MaxBytes, seed + 1);
        await using (pair)
        {
            Task client = ActAsClientAsync(pair.Client, upload, download, new Random(seed));
            Task reading = ReadAsync(pair, upload, new Random(seed + 2));
            Task writing = WriteAsync(pair, download, new Random(seed + 3));
            await Task.WhenAll(client, reading, writing).InTime();
        }
    }

    private static async Task ActAsClientAsync(Socket client, byte[] upload, byte[] download, Random random)
    {
        int sent = 0;
        int received = 0;
        byte[] buffer = new byte[8192];
        try
        {
            for (int step = 0; step < 30; step++)
            {
                switch (random.Next(12))
                {
                    case < 5:
                        int count = Math.Min(random.Next(1, 3000), upload.Length - sent);
                        sent += client.Available == 0 || count == 0 ? await client.SendAsync(upload.AsMemory(sent, count)).InTime() : 0;
                        break;
                    case < 10 when client.Available > 0:
                        int read = await client.ReceiveAsync(buffer.AsMemory(0, random.Next(1, buffer.Length))).InTime();
                        Assert.True(download.AsSpan(received).StartsWith(buffer.AsSpan(0, read)), $"The client got wrong bytes at {received}.");
                        received += read;
                        break;
                    case 10 when random.Next(8) == 0:
                        client.Shutdown(SocketShutdown.Send);
                        sent = upload.Length;
                        break;
                    case 11 when random.Next(8) == 0:
                        client.Reset();
                        return;
                    default:
                        await Task.Yield();
                        break;
                }
            }
        }
        catch (SocketException)
        {
            // The application ended the connection first.
        }

        client.Dispose();
    }

    private static async Task ReadAsync(ConnectionPair pair, byte[] upload, Random random)
    {
        int consumed = 0;
        try
        {
            while (true)
            {
                using CancellationTokenSource token = new();
                Task<ReadResult> reading = pair.Input.ReadAsync(random.Next(3) == 0 ? token.Token : default).AsTask();
                if (random.Next(4) == 0)
                {
                    pair.Input.CancelPendingRead();
                }

                if (random.Next(6) == 0)
                {
                    await token.CancelAsync().InTime();
                }

                ReadResult result;
                try
                {
                    result = await reading.InTime();
                }
                catch (OperationCanceledException)
                {
                    continue;
                }

                int length = (int)result.Buffer.Length;
                byte[] seen = new byte[length];
                System.Buffers.BuffersExtensions.CopyTo(result.Buffer, seen);
                Assert.True(upload.AsSpan(consumed).StartsWith(seen), $"The application got wrong bytes at {consumed}.");
                int consume = random.Next(length + 1);
                int examine = random.Next(2) == 0 ? length : random.Next(consume, length + 1);
                pair.Input.AdvanceTo(result.Buffer.GetPosition(consume), result.Buffer.GetPosition(examine));
                consumed += consume;
                if (result.IsCompleted || random.Next(60) == 0)
                {
                    await pair.Input.CompleteAsync().InTime();
                    return;
                }
            }
        }
        catch (Exception exception) when (exception is ConnectionResetException or ConnectionAbortedException)
        {
            // The other side, or the writing half, ended the connection.
        }
    }

    private static async Task WriteAsync(ConnectionPair pair, byte[] download, Random random)
    {
        int written = 0;
        while (written < download.Length && random.Next(25) != 0)
        {
            int count = Math.Min(random.Next(1, 6000), download.Length - written);
            download.AsMemory(written, count).CopyTo(pair.Output.GetMemory(count));
            pair.Output.Advance(count);
            written += count;
            Task<FlushResult> flushing = pair.Output.FlushAsync().AsTask();
            if (random.Next(3) == 0)
            {
                pair.Output.CancelPendingFlush();
            }

            if ((await flushing.InTime()).IsCompleted)
            {
                return;
            }
        }

        if (random.Next(3) == 0)
        {
            pair.Server.Abort(new ConnectionAbortedException("the script says so"));
        }
        else
        {
            await pair.Output.CompleteAsync().InTime();
        }
    }

    private static void SetTiny(IoUringTransportOptions options)
    {
        options.LoopCount = 1;
        options.RingEntries = 8;
        options.ReceiveBufferCount = 2;
        options.ReceiveBufferSize = 512;
        options.MaxReadBufferSize = 4096;
        options.MaxWriteBufferSize = 4096;
    }
}
