using System.Net;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Chunks that the application frames, whose flushes go past Kestrel: their order, their waits and what ends them.</summary>
public sealed class ChunkFlushesTests
{
    /// <summary>More than the sockets of both sides hold.</summary>
    private const int Much = 32 * 1024 * 1024;

    private const int PieceLength = 1024 * 1024;

    /// <summary>Goes past Kestrel, and does not wait.</summary>
    private const int Short = 5_000;

    private const string Request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    private const string Last = "\r\n0\r\n\r\n";

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Seeds => Transports.AllWith([1, 2, 3, 4]);

    [Theory]
    [MemberData(nameof(Seeds))]
    public async Task Pieces_OfRandomLengthsWrittenAtRandom_ArriveInOrder(TransportKind kind, int seed)
    {
        const int Length = 8 * 1024 * 1024;
        byte[] body = Payload.Of(Length, seed);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            Random random = new(seed);
            ZeroCopyWriter writer = await StartAsync(context, Length);
            for (int at = 0, length; at < Length; at += length)
            {
                length = Math.Min(Length - at, random.Next(1, random.Next(2) == 0 ? 4_000 : 400_000));
                ReadOnlyMemory<byte> piece = body.AsMemory(at, length);
                switch (random.Next(6))
                {
                    case 0:
                        await context.Response.BodyWriter.WriteAsync(piece, context.RequestAborted);
                        break;
                    case 1:
                        writer.Write(piece);
                        break;
                    case 2:
                        piece.CopyTo(writer.GetMemory(length));
                        writer.Advance(length);
                        break;
                    default:
                        await writer.WriteAsync(piece, context.RequestAborted);
                        break;
                }
            }

            await EndAsync(context, writer);
        }));
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        for (int request = 0; request < 2; request++)
        {
            await GetAsync(client, Length);
            Payload.AssertEqual(body, await client.ReceiveExactlyAsync(Length));
            Assert.Equal(Last, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(Last.Length)));
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
                await Record.ExceptionAsync(() => WriteMuchAsync(context, context.RequestAborted));
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

        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ThatStallsForThreeHeartbeats_GetsTheRest(TransportKind kind)
    {
        TaskCompletionSource stalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context =>
            WriteMuchAsync(context, context.RequestAborted, stalled, beats: 3)));
        await AssertGetsMuchAfterAsync(host, stalled.Task);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Token_EndsTheWaitAndCutsTheClient(TransportKind kind)
    {
        using CancellationTokenSource patience = new();
        TaskCompletionSource<Exception?> thrown = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource stalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
            thrown.SetResult(await Record.ExceptionAsync(() => WriteMuchAsync(context, patience.Token, stalled)))));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);
        await stalled.Task.InTime();

        await patience.CancelAsync();

        Assert.IsAssignableFrom<OperationCanceledException>(await thrown.Task.InTime());
        await client.AssertResetAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Token_CancelledBeforeTheWrite_EndsIt(TransportKind kind)
    {
        TaskCompletionSource<Exception?> thrown = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            ZeroCopyWriter writer = await StartAsync(context, Short);
            thrown.SetResult(await Record.ExceptionAsync(
                async () => await writer.WriteAsync(Payload.Of(Short), new CancellationToken(canceled: true))));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);

        Assert.IsAssignableFrom<OperationCanceledException>(await thrown.Task.InTime());
    }

    /// <summary>Time is granted for all that is unsent, and not for the one short piece that waits.</summary>
    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_SlowerThanTheGracePeriodButFastEnough_GetsTheRest(TransportKind kind)
    {
        TaskCompletionSource stalled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(context => WriteMuchAsync(context, context.RequestAborted, stalled, beats: 7, pieceLength: 8 * 1024)),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: 4 * 1024, gracePeriod: TimeSpan.FromSeconds(1.5));
            });
        await AssertGetsMuchAfterAsync(host, stalled.Task);
    }

    /// <summary>Kestrel holds what is written while its own flush waits.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Bytes_WrittenWhileAFlushWaits_StayInOrder(TransportKind kind)
    {
        const int Copied = 100;
        byte[] body = Payload.Of(Much + (2 * Copied) + Short);
        TaskCompletionSource written = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            ZeroCopyWriter writer = await StartAsync(context, body.Length);
            Task first = writer.WriteAsync(body.AsMemory(0, Much)).AsTask();
            writer.Write(body.AsMemory(Much, Copied));
            Task second = writer.FlushAsync().AsTask();
            writer.Write(body.AsMemory(Much + Copied, Copied));
            Assert.False(second.IsCompleted);
            written.SetResult();
            await Task.WhenAll(first, second);
            await writer.WriteAsync(body.AsMemory(Much + (2 * Copied)));
            await EndAsync(context, writer);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);
        await written.Task.InTime();

        await ReceiveHeadAsync(client, body.Length);
        Payload.AssertEqual(body, await client.ReceiveExactlyAsync(body.Length));
        Assert.Equal(Last, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(Last.Length)));
    }

    /// <summary>A misuse: writes begin while another one waits.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Writes_NotAwaitedInTurn_ArriveInOrder(TransportKind kind)
    {
        byte[] body = Payload.Of(4 * PieceLength);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            ZeroCopyWriter writer = await StartAsync(context, body.Length);
            List<Task> writes = [];
            for (int at = 0; at < body.Length; at += PieceLength)
            {
                writes.Add(writer.WriteAsync(body.AsMemory(at, PieceLength)).AsTask());
            }

            await Task.WhenAll(writes);
            await EndAsync(context, writer);
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        for (int request = 0; request < 50; request++)
        {
            await GetAsync(client, body.Length);
            Payload.AssertEqual(body, await client.ReceiveExactlyAsync(body.Length));
            await client.ReceiveExactlyAsync(Last.Length);
        }
    }

    /// <summary>A misuse: the writer outlives its response.</summary>
    [Theory]
    [MemberData(nameof(All))]
    public async Task Write_AfterTheResponse_IsRefusedAndConnectionGoesOn(TransportKind kind)
    {
        byte[] body = Payload.Of(PieceLength);
        ZeroCopyWriter? ended = null;
        TaskCompletionSource completed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.OnCompleted(() =>
            {
                completed.TrySetResult(); // The last of all, for callbacks run in reverse order.
                return Task.CompletedTask;
            });
            ZeroCopyWriter writer = await StartAsync(context, body.Length);
            await writer.WriteAsync(body);
            await EndAsync(context, writer);
            ended = writer;
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await GetAsync(client, body.Length);
        await client.ReceiveExactlyAsync(body.Length + Last.Length);
        await completed.Task.InTime();

        await Assert.ThrowsAnyAsync<InvalidOperationException>(async () => await ended!.WriteAsync(body).AsTask().InTime());

        await GetAsync(client, body.Length);
        Payload.AssertEqual(body, await client.ReceiveExactlyAsync(body.Length));
    }

    /// <summary>Starts one chunk of that many bytes, and flushes its head.</summary>
    private static async Task<ZeroCopyWriter> StartAsync(HttpContext context, int length)
    {
        context.Response.Headers.TransferEncoding = "chunked";
        ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
        await writer.WriteAsync(Encoding.ASCII.GetBytes($"{length:x}\r\n"), context.RequestAborted);
        return writer;
    }

    private static async Task EndAsync(HttpContext context, ZeroCopyWriter writer) =>
        await writer.WriteAsync(Encoding.ASCII.GetBytes(Last), context.RequestAborted);

    /// <summary>One chunk of <see cref="Much"/>, and the last one.</summary>
    /// <param name="stalled">Told that no more has been written from one heartbeat to the next, some times in a row.</param>
    private static async Task WriteMuchAsync(
        HttpContext context, CancellationToken cancellationToken, TaskCompletionSource? stalled = null, int beats = 2, int pieceLength = PieceLength)
    {
        byte[] body = Payload.Of(Much);
        int at = -1; // Not begun.
        (int Seen, int Count) stall = (-1, 0);
        context.Features.Get<IConnectionHeartbeatFeature>()!.OnHeartbeat(
            _ =>
            {
                int now = Volatile.Read(ref at);
                stall = (now, now >= 0 && now == stall.Seen ? stall.Count + 1 : 0);
                if (stall.Count == beats)
                {
                    stalled?.TrySetResult();
                }
            },
            context);
        ZeroCopyWriter writer = await StartAsync(context, Much);
        for (Volatile.Write(ref at, 0); at < Much; Volatile.Write(ref at, at + pieceLength))
        {
            await writer.WriteAsync(body.AsMemory(at, pieceLength), cancellationToken);
        }

        await EndAsync(context, writer);
    }

    private static async Task GetAsync(Socket client, int length)
    {
        await client.SendTextAsync(Request);
        await ReceiveHeadAsync(client, length);
    }

    private static async Task ReceiveHeadAsync(Socket client, int length)
    {
        await client.ReceiveTextUntilAsync("\r\n\r\n");
        Assert.Equal($"{length:x}\r\n", await client.ReceiveTextUntilAsync("\r\n"));
    }

    /// <summary>A client that reads nothing before the server has stalled, and then everything.</summary>
    private static async Task AssertGetsMuchAfterAsync(KestrelHost host, Task stalled)
    {
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync(Request);
        await stalled.InTime();
        await ReceiveHeadAsync(client, Much);
        Payload.AssertEqual(Payload.Of(Much), await client.ReceiveExactlyAsync(Much));
        Assert.Equal(Last, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(Last.Length)));
    }
}
