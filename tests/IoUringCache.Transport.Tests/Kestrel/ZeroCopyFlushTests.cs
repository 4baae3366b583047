using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>A zero-copy flush that waits for the client: where it continues, and everything that ends it.</summary>
public sealed class ZeroCopyFlushTests
{
    /// <summary>More than the sockets of both sides hold.</summary>
    private const int Much = 32 * 1024 * 1024;

    private const string Request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Seeds => Transports.AllWith([1, 2, 3, 4]);

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task SkippedWait_AnotherFlushWaitsBehindIt_IsStillKnown(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        IZeroCopyFeature connection = pair.Server.Features.Get<IZeroCopyFeature>()!;
        byte[] sent = Payload.Of(Much);
        pair.Output.Write(sent);
        connection.SkipWait(true);
        await pair.Output.FlushAsync().InTime();
        connection.SkipWait(false);

        // One of Kestrel's own, on another thread, before the writer has asked.
        ValueTask<FlushResult> other = pair.Output.FlushAsync();

        Assert.False(other.IsCompleted);
        Assert.True(connection.HasSkippedWait);
        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
        await other.InTime();
    }

    [Theory]
    [InlineData(TransportKind.Inline)]
    [InlineData(TransportKind.Adaptive)]
    public async Task Flush_ThreadPoolIsUsedUp_GoesOn(TransportKind kind)
    {
        const int PieceLength = 2 * 1024 * 1024;
        byte[] body = Payload.Of(4 * PieceLength);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = body.Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            for (int at = 0; at < body.Length; at += PieceLength)
            {
                await writer.WriteAsync(body.AsMemory(at, PieceLength), context.RequestAborted);
            }
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await GetAsync(client, body.Length); // Kestrel begins with a connection on the pool.
        TaskCompletionSource<byte[]> received = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread thread = new(() =>
        {
            using BlockedPool pool = new();
            try
            {
                byte[] answer = Get(client, body.Length);
                Assert.True(pool.IsBlocked);
                received.SetResult(answer);
            }
            catch (Exception exception)
            {
                received.SetException(exception);
            }
        });

        thread.Start();

        Payload.AssertEqual(body, await received.Task.WaitAsync(2 * Deadline.Limit));
    }

    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Pieces_OfRandomLengthsFlushedAtRandom_ArriveInOrder(TransportKind kind, int seed)
    {
        const int Length = 8 * 1024 * 1024;
        byte[] body = Payload.Of(Length, seed);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            Random random = new(seed);
            context.Response.ContentLength = Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            for (int at = 0, length; at < Length; at += length)
            {
                length = Math.Min(Length - at, random.Next(1, random.Next(2) == 0 ? 4_000 : 400_000));
                ReadOnlyMemory<byte> piece = body.AsMemory(at, length);
                switch (random.Next(4))
                {
                    case 0:
                        await context.Response.BodyWriter.WriteAsync(piece, context.RequestAborted);
                        break;
                    case 1:
                        writer.Write(piece);
                        break;
                    default:
                        await writer.WriteAsync(piece, context.RequestAborted);
                        break;
                }
            }

            await writer.FlushAsync(context.RequestAborted);
        }));
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        for (int request = 0; request < 2; request++)
        {
            Payload.AssertEqual(body, await GetAsync(client, Length));
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ThatReadsNothing_IsCutByTheMinimumDataRate(TransportKind kind)
    {
        TaskCompletionSource cut = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                await WriteMuchAsync(context, CancellationToken.None);
                cut.SetResult();
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: Much, gracePeriod: TimeSpan.FromSeconds(1.5));
            });
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);

        await cut.Task.InTime();

        Assert.True(await CountToTheEndAsync(client) < Much);
    }

    /// <summary>The wait is a flush of Kestrel's from the second heartbeat on, and the next one is not.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ThatStallsForThreeHeartbeats_GetsTheRest(TransportKind kind)
    {
        const int PieceCount = 2;
        TaskCompletionSource stalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        byte[] piece = Payload.Of(Much);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            int heartbeats = 0;
            context.Features.Get<IConnectionHeartbeatFeature>()!.OnHeartbeat(
                _ =>
                {
                    if (++heartbeats == 3)
                    {
                        stalled.SetResult();
                    }
                },
                context);
            context.Response.ContentLength = (long)PieceCount * Much;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            for (int sent = 0; sent < PieceCount; sent++)
            {
                await writer.WriteAsync(piece, context.RequestAborted);
            }
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);

        await stalled.Task.InTime();

        await client.ReceiveTextUntilAsync("\r\n\r\n");
        for (int received = 0; received < PieceCount; received++)
        {
            Payload.AssertEqual(piece, await client.ReceiveExactlyAsync(Much));
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Token_EndsTheWaitAndCutsTheClient(TransportKind kind)
    {
        using CancellationTokenSource patience = new();
        TaskCompletionSource<Exception?> thrown = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource waits = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
            thrown.SetResult(await Record.ExceptionAsync(async () => await WriteMuchAsync(context, patience.Token, waits)))));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);
        await waits.Task.InTime();

        await patience.CancelAsync();

        Assert.IsAssignableFrom<OperationCanceledException>(await thrown.Task.InTime());
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task CancelPendingFlush_EndsTheWaitAndNothingIsLost(TransportKind kind)
    {
        TaskCompletionSource<PipeWriter> writer = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource waits = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource<FlushResult> ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            writer.SetResult(context.Response.BodyWriter);
            ended.SetResult(await WriteMuchAsync(context, CancellationToken.None, waits));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);
        await waits.Task.InTime();

        (await writer.Task).CancelPendingFlush();

        // Kestrel does not tell of it after a flush that waited.
        Assert.Equal(kind != TransportKind.Sockets, (await ended.Task.InTime()).IsCanceled);
        await client.ReceiveTextUntilAsync("\r\n\r\n");
        Payload.AssertEqual(Payload.Of(Much), await client.ReceiveExactlyAsync(Much));
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Flush_BesideTheOneThatWaits_WaitsToo(TransportKind kind)
    {
        TaskCompletionSource<Task> other = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            Task writing = WriteMuchAsync(context, CancellationToken.None);
            Task flushing = context.Response.Body.FlushAsync();
            other.SetResult(flushing);
            await Task.WhenAll(writing, flushing);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);

        Assert.False((await other.Task.InTime()).IsCompleted);

        await client.ReceiveTextUntilAsync("\r\n\r\n");
        Payload.AssertEqual(Payload.Of(Much), await client.ReceiveExactlyAsync(Much));
        await (await other.Task).InTime();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Server_StopsWhileAFlushWaits_EndsIt(TransportKind kind)
    {
        TaskCompletionSource waits = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            await Record.ExceptionAsync(async () => await WriteMuchAsync(context, CancellationToken.None, waits));
            ended.SetResult();
        }));
        Socket client;
        await using (host)
        {
            client = await RawClient.ConnectAsync(host);
            await client.SendTextAsync(Request);
            await waits.Task.InTime();
        }

        await ended.Task.InTime();
        client.Dispose(); // Not before: its end would end the flush too.
    }

    /// <summary>A misuse: the second flush begins while the first waits.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Flushes_NotAwaitedInTurn_BothEnd(TransportKind kind)
    {
        const int Length = 1024 * 1024;
        byte[] body = Payload.Of(2 * Length);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = body.Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            Task<FlushResult> first = writer.WriteAsync(body.AsMemory(0, Length)).AsTask();
            Task<FlushResult> second = writer.WriteAsync(body.AsMemory(Length)).AsTask();
            await Task.WhenAll(first, second);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        for (int request = 0; request < 50; request++)
        {
            Payload.AssertEqual(body, await GetAsync(client, body.Length));
        }
    }

    private static async Task<FlushResult> WriteMuchAsync(HttpContext context, CancellationToken cancellationToken, TaskCompletionSource? waits = null)
    {
        context.Response.ContentLength = Much;
        ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(CancellationToken.None);
        ValueTask<FlushResult> flush = writer.WriteAsync(Payload.Of(Much), cancellationToken);
        Assert.False(flush.IsCompleted);
        waits?.SetResult();
        return await flush;
    }

    private static async Task<byte[]> GetAsync(Socket client, int length)
    {
        await client.SendTextAsync(Request);
        await client.ReceiveTextUntilAsync("\r\n\r\n");
        return await client.ReceiveExactlyAsync(length);
    }

    /// <summary>The same without any other thread.</summary>
    private static byte[] Get(Socket client, int length)
    {
        client.ReceiveTimeout = (int)Deadline.Limit.TotalMilliseconds;
        client.Send(Encoding.Latin1.GetBytes(Request));
        byte[] mark = "\r\n\r\n"u8.ToArray();
        byte[] received = new byte[length + 1024];
        int count = 0;
        int head = -1;
        while (head < 0 || count < head + length)
        {
            int more = client.Receive(received.AsSpan(count));
            Assert.NotEqual(0, more);
            count += more;
            head = head < 0 && received.AsSpan(0, count).IndexOf(mark) is var at and >= 0 ? at + mark.Length : head;
        }

        return received.AsSpan(head, length).ToArray();
    }

    /// <summary>Bytes up to the connection's end, of whichever kind.</summary>
    private static async Task<int> CountToTheEndAsync(Socket client)
    {
        byte[] buffer = new byte[64 * 1024];
        int count = 0;
        try
        {
            while (await client.ReceiveAsync(buffer).InTime() is var more and > 0)
            {
                count += more;
            }
        }
        catch (SocketException)
        {
            // Reset: that is an end too.
        }

        return count;
    }
}
