using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Memory arrives as it is, without a copy where that is possible, and copied elsewhere.</summary>
public sealed class ZeroCopyTests
{
    private const int Length = 300_000;

    private static readonly int[] s_lengths =
        [0, 1, ZeroCopyWriter.MinimumLength - 1, ZeroCopyWriter.MinimumLength, 65_536, 1024 * 1024, (1024 * 1024) + 1, 3_500_000];

    /// <summary>Obstacles to a zero-copy body.</summary>
    private static readonly Dictionary<string, Action<WebApplication>> s_obstacles = new()
    {
        ["no length"] = application => application.Run(context => SendAsync(context, withLength: false)),
        ["body of a middleware"] = application => application.Run(async context =>
        {
            IHttpResponseBodyFeature own = context.Features.Get<IHttpResponseBodyFeature>()!;
            context.Features.Set<IHttpResponseBodyFeature>(new StreamResponseBodyFeature(own.Stream, own));
            await SendAsync(context);
            await context.Response.CompleteAsync();
        }),
    };

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Lengths => Transports.AllWith(s_lengths);

    public static TheoryData<TransportKind, string> Obstacles => Transports.AllWith(s_obstacles.Keys);

    [Theory]
    [MemberData(nameof(Lengths))]
    public async Task Body_OfEveryLength_ArrivesWholeAndConnectionGoesOn(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        HashSet<string> connections = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            connections.Add(context.Connection.Id);
            context.Response.ContentLength = body.Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            Assert.Equal(kind != TransportKind.Sockets, writer.IsZeroCopy);
            await writer.WriteAsync(body);
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        }

        Assert.Single(connections);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Memory_ChangedBeforeTheFlush_ArrivesChanged(TransportKind kind)
    {
        byte[] body = Payload.Of(Length, seed: 1);
        byte[] changed = Payload.Of(Length, seed: 2);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            writer.Write(body);
            changed.CopyTo(body, 0);
            await writer.FlushAsync();
        }));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(changed, await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Pieces_ZeroCopyAndCopied_ArriveInOrder(TransportKind kind)
    {
        byte[] body = Payload.Of(Length);
        int[] ends = [10, 5_000, 5_001, 70_000, 70_000, 200_000, 200_100, Length];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            int at = 0;
            foreach (int end in ends)
            {
                if (end % 2 == 0)
                {
                    await context.Response.BodyWriter.WriteAsync(body.AsMemory(at, (end - at) / 2));
                    at += (end - at) / 2;
                }

                writer.Write(body.AsMemory(at, end - at));
                at = end;
            }

            await writer.FlushAsync();
        }));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Chunks_FramedByTheApplication_AreNotCopied(TransportKind kind)
    {
        byte[] body = Payload.Of(Length);
        HashSet<string> connections = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            connections.Add(context.Connection.Id);
            context.Response.Headers.TransferEncoding = "chunked";
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            Assert.True(writer.IsZeroCopy);
            foreach (byte[] chunk in body.Chunk(16_384))
            {
                byte[] frame = [.. Encoding.ASCII.GetBytes($"{chunk.Length:x}\r\n"), .. chunk, .. "\r\n"u8];
                await writer.WriteAsync(frame);
            }

            await writer.WriteAsync("0\r\n\r\n"u8.ToArray());
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        }

        Assert.Single(connections);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Chunk_ChangedBeforeTheFlush_ArrivesChanged(TransportKind kind)
    {
        byte[] changed = Payload.Of(Length, seed: 2);
        byte[] head = Encoding.ASCII.GetBytes($"{Length:x}\r\n");
        byte[] frame = [.. head, .. Payload.Of(Length, seed: 1), .. "\r\n0\r\n\r\n"u8];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.Headers.TransferEncoding = "chunked";
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            writer.Write(frame);
            changed.CopyTo(frame, head.Length);
            await writer.FlushAsync();
        }));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(changed, await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Body_OfNotModified_IsRefusedAndConnectionGoesOn(TransportKind kind)
    {
        HashSet<string> connections = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            connections.Add(context.Connection.Id);
            context.Response.StatusCode = StatusCodes.Status304NotModified;
            await Assert.ThrowsAsync<InvalidOperationException>(() => SendAsync(context));
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            using HttpResponseMessage answer = await client.GetAsync("/").InTime();
            Assert.Equal(HttpStatusCode.NotModified, answer.StatusCode);
        }

        Assert.Single(connections);
    }

    [Theory]
    [MemberData(nameof(Obstacles))]
    public async Task Body_WithAnObstacle_IsCopied(TransportKind kind, string obstacle)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, s_obstacles[obstacle]);
        await AssertCopiedAsync(host, HttpVersion.Version11);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Body_OverTls_IsCopied(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, MapCopied, KestrelHost.UseHttps);
        await AssertCopiedAsync(host, HttpVersion.Version11);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Body_OverHttp2_IsCopied(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, MapCopied, endPoint => endPoint.Protocols = HttpProtocols.Http2);
        await AssertCopiedAsync(host, HttpVersion.Version20);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Body_UnderConnectionMiddleware_IsCopied(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, MapCopied, endPoint => endPoint.UseConnectionLogging());
        await AssertCopiedAsync(host, HttpVersion.Version11);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Head_OfAZeroCopyHandler_HasNoBodyAndConnectionGoesOn(TransportKind kind)
    {
        HashSet<string> connections = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context =>
        {
            connections.Add(context.Connection.Id);
            return SendAsync(context);
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            using HttpRequestMessage head = new(HttpMethod.Head, "/");
            using HttpResponseMessage answer = await client.SendAsync(head).InTime();
            Assert.Equal(Length, answer.Content.Headers.ContentLength);
        }

        Assert.Single(connections);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Write_BeyondTheContentLength_ThrowsAndClientGetsNoMore(TransportKind kind)
    {
        TaskCompletionSource<Exception?> failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = Length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            await writer.WriteAsync(Payload.Of(Length));
            failed.SetResult(await Record.ExceptionAsync(async () => await writer.WriteAsync(Payload.Of(Length))));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        string answer = await client.ReceiveTextToEndAsync();
        Assert.Equal(Length, answer.Length - answer.IndexOf("\r\n\r\n", StringComparison.Ordinal) - 4);
        Assert.IsType<InvalidOperationException>(await failed.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_ResetsWhileMemoryIsSent_MemoryIsReleased(TransportKind kind)
    {
        TaskCompletionSource<WeakReference> sent = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = 64 * 1024 * 1024;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            sent.SetResult(await WriteWeaklyAsync(writer, 64 * 1024 * 1024));
        }));
        using Socket client = await RawClient.ConnectAsync(host);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveExactlyAsync(1000);
        client.Reset();
        WeakReference memory = await sent.Task.InTime();
        await Deadline.UntilAsync(
            () =>
            {
                GC.Collect();
                return !memory.IsAlive;
            },
            () => "The memory is still held.");
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Client_SlowerThanTheGracePeriodButFastEnough_GetsEverything(TransportKind kind)
    {
        const int Body = 8 * 1024 * 1024;
        const int PauseEvery = 1024 * 1024;
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                context.Response.ContentLength = Body;
                ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
                await writer.WriteAsync(new byte[Body]);
            }),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: 512 * 1024, gracePeriod: TimeSpan.FromSeconds(1.5));
            });
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveTextUntilAsync("\r\n\r\n");

        // Four seconds, where sixteen are allowed by the rate, and hardly more than one by the grace period alone.
        using PeriodicTimer pause = new(TimeSpan.FromMilliseconds(500));
        for (int received = 0; received < Body; received += PauseEvery)
        {
            await pause.WaitForNextTickAsync().InTime();
            await client.ReceiveExactlyAsync(PauseEvery);
        }
    }

    /// <summary>What is copied into Kestrel's memory is not counted by it either, where the length is known.</summary>
    [Theory]
    [InlineData("memory")]
    [InlineData("memory, then more")]
    [InlineData("file")]
    public async Task Client_SlowerThanTheGracePeriodButFastEnough_GetsEverythingThatIsCopied(string what)
    {
        const int Body = 6 * 1024 * 1024;
        const int Step = 128 * 1024;
        string path = Path.GetTempFileName();
        await File.WriteAllBytesAsync(path, new byte[Body]);
        await using KestrelHost host = await KestrelHost.StartAsync(
            TransportKind.Sockets,
            application => application.Run(context => CopyAsync(context, what, path, Body)),
            kestrel: options =>
            {
                options.Listen(IPAddress.Loopback, 0);
                options.Limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: 16 * 1024, gracePeriod: TimeSpan.FromSeconds(1.5));
            });
        using Socket client = await RawClient.ConnectAsync(host, socket => socket.ReceiveBufferSize = 4096);
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await client.ReceiveTextUntilAsync("\r\n\r\n");

        // Five seconds at sixteen times the rate, of which the server's buffer makes steps that take more than the grace period.
        using PeriodicTimer pause = new(TimeSpan.FromMilliseconds(500));
        for (int step = 0; step < 10; step++)
        {
            await pause.WaitForNextTickAsync().InTime();
            await client.ReceiveExactlyAsync(Step);
        }

        await client.ReceiveExactlyAsync(Body - (10 * Step));
        File.Delete(path);
    }

    private static async Task CopyAsync(HttpContext context, string what, string path, int length)
    {
        context.Response.ContentLength = length;
        ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
        if (what == "file")
        {
            using SafeFileHandle file = File.OpenHandle(path);
            await writer.WriteFileAsync(file, 0, length);
        }
        else if (what == "memory")
        {
            writer.Write(new byte[length]);
            await writer.FlushAsync();
        }
        else
        {
            writer.Write(new byte[length - 1]);
            await writer.WriteAsync(new byte[1]);
        }
    }

    private static void MapCopied(WebApplication application) => application.Run(context => SendAsync(context));

    private static async Task SendAsync(HttpContext context, bool withLength = true)
    {
        if (withLength)
        {
            context.Response.ContentLength = Length;
        }

        ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
        Assert.False(writer.IsZeroCopy);
        await writer.WriteAsync(Payload.Of(Length));
    }

    private static async Task AssertCopiedAsync(KestrelHost host, Version version)
    {
        using HttpClient client = host.CreateClient(version);
        Payload.AssertEqual(Payload.Of(Length), await client.GetByteArrayAsync("/").InTime());
    }

    /// <summary>A frame of its own, so that nothing but the transport keeps the memory.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<WeakReference> WriteWeaklyAsync(ZeroCopyWriter writer, int length)
    {
        byte[] memory = new byte[length];
        WeakReference weak = new(memory);
        Task writing = writer.WriteAsync(memory).AsTask();
        memory = [];
        await writing.InTime();
        return weak;
    }
}
