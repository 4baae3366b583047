using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.FileProviders;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>Files arrive as they are, sent as files where that is possible and copied elsewhere; so does memory that is a file.</summary>
public sealed class SendFileTests
{
    private const int Length = 3_300_000;

    private static readonly int[] s_lengths =
        [0, 1, ZeroCopyWriter.MinimumFileLength - 1, ZeroCopyWriter.MinimumFileLength, 1024 * 1024, (1024 * 1024) + 1, Length];

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    /// <summary>With what TCP has: BBR paces, and no other does.</summary>
    public static TheoryData<TransportKind, string> Congestion => Transports.IoUringWith(["reno", "bbr"]);

    public static TheoryData<TransportKind, int> Lengths => Transports.AllWith(s_lengths);

    [Theory]
    [MemberData(nameof(Lengths))]
    public async Task WriteFile_OfEveryLength_ArrivesWholeAndConnectionGoesOn(TransportKind kind, int length)
    {
        using TestFile file = new(length + 10);
        HashSet<string> connections = [];
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            connections.Add(context.Connection.Id);
            context.Response.ContentLength = length + 2;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            Assert.Equal(kind != TransportKind.Sockets, writer.IsZeroCopy);
            writer.Write("("u8.ToArray());
            using SafeFileHandle handle = file.Open();
            await writer.WriteFileAsync(handle, 7, length, context.RequestAborted);
            await writer.WriteAsync(")"u8.ToArray());
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            byte[] expected = [(byte)'(', .. file.Content.AsSpan(7, length), (byte)')'];
            Payload.AssertEqual(expected, await client.GetByteArrayAsync("/").InTime());
        }

        Assert.Single(connections);
        await Deadline.UntilAsync(() => file.DescriptorCount == 0, () => "The file is still open.");
    }

    [Theory]
    [MemberData(nameof(Lengths))]
    public async Task Memory_ThatIsAFile_ArrivesWhole(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        Assert.True(FileBackedMemory.TryAllocate(length + 20, out IMemoryOwner<byte>? memory));
        body.CopyTo(memory.Memory[13..]);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = length;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            await writer.WriteAsync(memory.Memory.Slice(13, length));
        }), transport: Having("reno"));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        memory.Dispose();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Memory_DisposedWhileItIsSent_ArrivesWhole(TransportKind kind)
    {
        const int Large = 24 * 1024 * 1024;
        byte[] body = Payload.Of(Large);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = Large;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
            ValueTask<FlushResult> writing;
            Assert.True(FileBackedMemory.TryAllocate(Large, out IMemoryOwner<byte>? memory));
            using (memory)
            {
                body.CopyTo(memory.Memory);
                writing = writer.WriteAsync(memory.Memory);
            }

            await writing;
        }), transport: Having("reno"));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(Congestion))]
    public async Task Memory_ThatIsAFile_IsSentAsOneUnlessTcpPaces(TransportKind kind, string congestionControl)
    {
        Assert.SkipUnless(
            File.ReadAllText("/proc/sys/net/ipv4/tcp_available_congestion_control").Split().Contains(congestionControl),
            $"The kernel has no {congestionControl}.");
        Assert.True(FileBackedMemory.TryAllocate(Length, out IMemoryOwner<byte>? memory));
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                context.Response.ContentLength = Length;
                ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync(context.RequestAborted);
                Assert.True(writer.IsZeroCopy);
                await writer.WriteAsync(memory.Memory);
            }),
            transport: Having(congestionControl));
        using HttpClient client = host.CreateClient();
        long before = ProcessState.WrittenBytes;

        Payload.AssertEqual(memory.Memory.Span.ToArray(), await client.GetByteArrayAsync("/").InTime());

        // Sends do not count as writing, and sendfile(2) does.
        Assert.Equal(congestionControl != "bbr", ProcessState.WrittenBytes - before >= Length);
    }

    [Fact]
    public void Memory_ThatIsAFile_LeavesDescriptorsToConnections()
    {
        int before = ProcessState.DescriptorCount;

        Assert.False(FileBackedMemory.TryAllocate(Length, maxDescriptors: 3, out IMemoryOwner<byte>? memory));

        Assert.Null(memory);
        Assert.Equal(before, ProcessState.DescriptorCount);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task WriteFile_RangeBeyondTheEnd_ThrowsBeforeAnythingIsSent(TransportKind kind)
    {
        using TestFile file = new(1000);
        TaskCompletionSource<Exception?> failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = 1001;
            ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
            using SafeFileHandle handle = file.Open();
            failed.SetResult(await Record.ExceptionAsync(async () => await writer.WriteFileAsync(handle, 0, 1001)));
            await writer.WriteFileAsync(handle, 0, 1000);
            await writer.WriteAsync("!"u8.ToArray());
        }));
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual([.. file.Content, (byte)'!'], await client.GetByteArrayAsync("/").InTime());
        Assert.IsType<EndOfStreamException>(await failed.Task.InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task StaticFile_AsAWholeAndInRanges_IsTheSame(TransportKind kind)
    {
        using TestFile file = new(Length);
        await using KestrelHost host = await StartAsync(kind, file);
        long before = ProcessState.WrittenBytes;
        await AssertServesAsync(host, file, HttpVersion.Version11);

        // Sends do not count as writing, and sendfile(2) does.
        Assert.True(kind == TransportKind.Sockets || ProcessState.WrittenBytes - before >= 4 * 2_000_000, "The files were copied.");
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task StaticFile_OverTls_IsTheSame(TransportKind kind)
    {
        using TestFile file = new(Length);
        await using KestrelHost host = await StartAsync(kind, file, KestrelHost.UseHttps);
        await AssertServesAsync(host, file, HttpVersion.Version11);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task StaticFile_OverHttp2_IsTheSame(TransportKind kind)
    {
        using TestFile file = new(Length);
        await using KestrelHost host = await StartAsync(kind, file, endPoint => endPoint.Protocols = HttpProtocols.Http2);
        await AssertServesAsync(host, file, HttpVersion.Version20);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task SendFile_WithoutALength_IsTheSame(TransportKind kind)
    {
        using TestFile file = new(Length);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application =>
        {
            application.UseIoUringSendFile();
            application.Run(context => context.Response.SendFileAsync(file.Path, 5, 100_000));
        });
        using HttpClient client = host.CreateClient();
        Payload.AssertEqual(file.Content[5..100_005], await client.GetByteArrayAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task SendFile_OfAFileThatIsMissing_CanStillBecomeAnotherAnswer(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application =>
        {
            application.UseIoUringSendFile();
            application.Run(async context =>
            {
                context.Response.ContentLength = 10;
                await Assert.ThrowsAsync<FileNotFoundException>(() => context.Response.SendFileAsync(Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString("N"))));
                context.Response.ContentLength = null;
                context.Response.StatusCode = StatusCodes.Status404NotFound;
            });
        });
        using HttpClient client = host.CreateClient();
        using HttpResponseMessage answer = await client.GetAsync("/").InTime();
        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task SendFile_BehindAMiddlewareThatChangesBodies_PassesThroughIt(TransportKind kind)
    {
        using TestFile file = new(100_000);
        using MemoryStream seen = new();
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application =>
        {
            application.UseIoUringSendFile();
            application.Run(async context =>
            {
                context.Features.Set<IHttpResponseBodyFeature>(new StreamResponseBodyFeature(seen));
                context.Response.ContentLength = 0;
                await context.Response.SendFileAsync(file.Path);
            });
        });
        using HttpClient client = host.CreateClient();
        Assert.Empty(await client.GetByteArrayAsync("/").InTime());
        Payload.AssertEqual(file.Content, seen.ToArray());
    }

    private static Task<KestrelHost> StartAsync(TransportKind kind, TestFile file, Action<ListenOptions>? listen = null) => KestrelHost.StartAsync(
        kind,
        application =>
        {
            application.UseIoUringSendFile();
            application.UseStaticFiles(new StaticFileOptions
            {
                FileProvider = new PhysicalFileProvider(Path.GetDirectoryName(file.Path)!),
                ServeUnknownFileTypes = true,
                RequestPath = "/static",
            });
            application.MapGet("/result", () => Results.File(file.Path, "application/octet-stream", enableRangeProcessing: true));
        },
        listen);

    private static async Task AssertServesAsync(KestrelHost host, TestFile file, Version version)
    {
        using HttpClient client = host.CreateClient(version);
        foreach (string path in new[] { $"/static/{Path.GetFileName(file.Path)}", "/result" })
        {
            Payload.AssertEqual(file.Content, await client.GetByteArrayAsync(path).InTime());
            using HttpRequestMessage request = new(HttpMethod.Get, path)
            {
                Version = version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            request.Headers.Range = new RangeHeaderValue(12_345, 2_345_678);
            using HttpResponseMessage part = await client.SendAsync(request).InTime();
            Assert.Equal(HttpStatusCode.PartialContent, part.StatusCode);
            Payload.AssertEqual(file.Content[12_345..2_345_679], await part.Content.ReadAsByteArrayAsync().InTime());
        }
    }

    /// <summary>Listeners, and so their connections, with this congestion control (TCP_CONGESTION).</summary>
    private static Action<IoUringTransportOptions> Having(string congestionControl) => options =>
        options.CreateBoundListenSocket = endPoint =>
        {
            Socket socket = SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            socket.SetRawSocketOption(optionLevel: 6, optionName: 13, Encoding.ASCII.GetBytes(congestionControl));
            return socket;
        };
}
