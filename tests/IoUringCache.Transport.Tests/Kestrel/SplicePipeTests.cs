using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Connecting;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>A handler relays a body from another connection through a pipe: in order, at the client's pace, and nothing is left in any ending.</summary>
public sealed class SplicePipeTests
{
    /// <summary>More than both ends of a connection buffer by themselves.</summary>
    private const int Large = 24 * 1024 * 1024;

    private static readonly int[] s_lengths = [1, 300_000, SplicePipe.Capacity, 5_000_001];

    /// <summary>The runtime has some too.</summary>
    private readonly HashSet<string> _others = [.. Pipes()];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, int> Lengths => Transports.IoUringWith(s_lengths);

    [Theory]
    [MemberData(nameof(Lengths))]
    public async Task Body_OfEveryLength_ArrivesWholeAndConnectionGoesOn(TransportKind kind, int length)
    {
        byte[] body = Payload.Of(length);
        HashSet<string> connections = [];
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context =>
        {
            connections.Add(context.Connection.Id);
            return RelayAsync(context, peer, body);
        }));
        using HttpClient client = host.CreateClient();
        for (int request = 0; request < 3; request++)
        {
            Payload.AssertEqual(body, await client.GetByteArrayAsync("/").InTime());
        }

        Assert.Single(connections);
        await Deadline.UntilAsync(() => PipeCount == 0, () => "A pipe is still open.");
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_ThatReadsLate_HoldsThePeerBackAndGetsEverything(TransportKind kind)
    {
        byte[] body = Payload.Of(Large);
        TaskCompletionSource<Task> sending = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(
            context => RelayAsync(context, peer, body, sending)), kestrel: server => server.Limits.MinResponseDataRate = null);
        using HttpClient client = host.CreateClient();
        using HttpResponseMessage response = await client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead).InTime();

        Task sent = await sending.Task.InTime();
        await Assert.ThrowsAsync<TimeoutException>(() => sent.WaitAsync(TimeSpan.FromMilliseconds(300)));

        Payload.AssertEqual(body, await response.Content.ReadAsByteArrayAsync().InTime());
        await sent.InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_ThatLeaves_LetsGoOfThePipe(TransportKind kind)
    {
        byte[] body = Payload.Of(Large);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(context => RelayAsync(context, peer, body)));
        for (int round = 0; round < 5; round++)
        {
            using Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            await client.ConnectAsync(host.Address.Host, host.Address.Port).InTime();
            await client.SendAllAsync("GET / HTTP/1.1\r\nHost: a\r\n\r\n"u8.ToArray());
            await client.ReceiveExactlyAsync(2_000_000);
            Assert.Equal(1, PipeCount);
            client.Reset();
            await Deadline.UntilAsync(() => PipeCount == 0, () => "The pipe is still open.");
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Write_WhereItIsNotZeroCopy_IsRefused(TransportKind kind)
    {
        await using KestrelHost host = await KestrelHost.StartAsync(
            kind,
            application => application.Run(async context =>
            {
                context.Response.ContentLength = 2;
                ZeroCopyWriter writer = await context.Response.StartZeroCopyAsync();
                Assert.True(SplicePipe.TryCreate(out SplicePipe? pipe));
                using SplicePipe made = pipe;
                Assert.Throws<InvalidOperationException>(() => writer.Write(made));
                await writer.WriteAsync("ok"u8.ToArray());
            }),
            endPoint => endPoint.Protocols = HttpProtocols.Http2);
        using HttpClient client = host.CreateClient(HttpVersion.Version20);

        Assert.Equal("ok", await client.GetStringAsync("/").InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Write_BeyondTheContentLength_ThrowsAndClientGetsNoMore(TransportKind kind)
    {
        byte[] body = Payload.Of(100_000);
        await using OutgoingPeer peer = OutgoingPeer.Start(kind);
        TaskCompletionSource<Exception?> failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => application.Run(async context =>
        {
            context.Response.ContentLength = 10;
            failure.SetResult(await Record.ExceptionAsync(() => RelayAsync(context, peer, body)));
        }));
        using HttpClient client = host.CreateClient();

        await Assert.ThrowsAnyAsync<HttpRequestException>(() => client.GetByteArrayAsync("/").InTime());

        Assert.IsType<InvalidOperationException>(await failure.Task.InTime());
        await Deadline.UntilAsync(() => PipeCount == 0, () => "A pipe is still open.");
    }

    [Fact]
    public void Pipes_OfAProcess_AreBounded()
    {
        List<SplicePipe> pipes = [];
        while (SplicePipe.TryCreate(out SplicePipe? pipe))
        {
            pipes.Add(pipe);
        }

        Assert.InRange(pipes.Count, 1, SplicePipe.MaxCount);
        pipes.ForEach(pipe => pipe.Dispose());
        pipes[0].Dispose(); // Counts once.
        Assert.Equal(0, PipeCount);
        Assert.True(SplicePipe.TryCreate(out SplicePipe? next));
        next.Dispose();
    }

    /// <summary>Pipes that this test has opened.</summary>
    private int PipeCount => Pipes().Except(_others).Count();

    private static IEnumerable<string> Pipes() => Directory.GetFiles("/proc/self/fd")
        .Select(descriptor => new FileInfo(descriptor).LinkTarget ?? "")
        .Where(target => target.StartsWith("pipe:", StringComparison.Ordinal))
        .Distinct();

    /// <summary>Has a peer send bytes, and relays them as an application would; the client's time-outs bound its waits.</summary>
    private static async Task RelayAsync(HttpContext context, OutgoingPeer peer, byte[] bytes, TaskCompletionSource<Task>? sending = null)
    {
        await using ConnectionPair upstream = await peer.ConnectAsync();
        Task sent = upstream.Client.SendAllAsync(bytes);
        sending?.SetResult(sent);
        context.Response.ContentLength ??= bytes.Length;
        ZeroCopyWriter body = await context.Response.StartZeroCopyAsync(context.RequestAborted);
        IDirectReceiveFeature direct = upstream.Server.Features.Get<IDirectReceiveFeature>()!;
        PipeReader input = upstream.Input;
        Assert.True(SplicePipe.TryCreate(out SplicePipe? made));
        using SplicePipe pipe = made;
        long expectedBytes = bytes.Length;
        while (expectedBytes > 0)
        {
            ReadResult read = await direct.ReadAsync(pipe, expectedBytes);
            expectedBytes -= pipe.Length + read.Buffer.Length;
            body.Write(pipe);
            foreach (ReadOnlyMemory<byte> part in read.Buffer)
            {
                part.Span.CopyTo(body.GetMemory(part.Length).Span);
                body.Advance(part.Length);
            }

            input.AdvanceTo(read.Buffer.End);
            FlushResult flushed = await body.FlushAsync(context.RequestAborted);
            if (flushed.IsCompleted)
            {
                return;
            }
        }
    }
}
