using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Results of sends that a loopback connection never gives by itself.</summary>
public sealed class SendFaultTests
{
    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS, Errno.ECANCELED];
    private static readonly Errno[] s_lasting = [Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS];
    private static readonly Errno[] s_final = [Errno.EPIPE, Errno.ECONNRESET, Errno.ETIMEDOUT, Errno.EIO];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> Lasting => Transports.IoUringWith(s_lasting);

    public static TheoryData<TransportKind, Errno> Final => Transports.IoUringWith(s_final);

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Send_PassingError_IsTriedAgainAndKeepsTheOrder(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.Send, error, times: 3);
        byte[] sent = Payload.Of(200_000);
        Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(sent.Length);

        for (int at = 0; at < sent.Length; at += 1000)
        {
            await pair.Output.WriteAsync(sent.AsMemory(at, 1000)).InTime();
        }

        Payload.AssertEqual(sent, await receiving.InTime());
        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(Lasting))]
    public async Task Send_ErrorForAWhile_IsNotTriedInAHurry(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.Send, error, int.MaxValue);
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();

        await fault.AssertNotInAHurryAsync();

        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
    }

    [Theory]
    [InlineData(TransportKind.ThreadPool, 1)]
    [InlineData(TransportKind.ThreadPool, 4095)]
    [InlineData(TransportKind.ThreadPool, 4097)]
    [InlineData(TransportKind.Inline, 1)]
    [InlineData(TransportKind.Inline, 4095)]
    public async Task Send_Short_TheRestFollows(TransportKind kind, int bytes)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.ShortenSends(bytes, times: 20);
        byte[] sent = Payload.Of(100_000);
        Task<byte[]> receiving = pair.Client.ReceiveExactlyAsync(sent.Length);

        // A gathered send of many segments, and single ones.
        await pair.Output.WriteAsync(sent.AsMemory(0, 60_000)).InTime();
        for (int at = 60_000; at < sent.Length; at += 100)
        {
            await pair.Output.WriteAsync(sent.AsMemory(at, 100)).InTime();
        }

        Payload.AssertEqual(sent, await receiving.InTime());
        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Send_ShortBeforeTheEnd_IsFinishedBeforeFin(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        kernel.ShortenSends(10, times: 5);
        byte[] sent = Payload.Of(5000);
        Task<byte[]> receiving = pair.Client.ReceiveToEndAsync();

        await pair.Output.WriteAsync(sent).InTime();
        await pair.Output.CompleteAsync().InTime();

        Payload.AssertEqual(sent, await receiving.InTime());
        await pair.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Send_OfNothing_IsTriedAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.Send, result: 0, times: 3);

        await pair.AssertWorksAsync();

        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(Final))]
    public async Task Send_FinalError_EndsThatConnectionOnly(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        await using ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = pair.Input.ReadAsync().AsTask();
        kernel.Inject(OperationKind.Send, error);

        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();

        if (error is Errno.EPIPE or Errno.ECONNRESET)
        {
            await Assert.ThrowsAsync<ConnectionResetException>(() => read.InTime());
        }
        else
        {
            await Assert.ThrowsAsync<IOException>(() => read.InTime());
        }

        Assert.True((await pair.Output.WriteAsync("def"u8.ToArray()).InTime()).IsCompleted);
        await pair.Client.AssertResetAsync();
        await other.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Send_OnANonBlockingDescriptor_WaitsForTheClientWithoutSpinning(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxWriteBufferSize = 0);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.Blocking = false;
        byte[] sent = Payload.Of(16 * 1024 * 1024); // More than both ends of a connection buffer by themselves.

        await pair.Output.WriteAsync(sent).InTime();

        // The client does not read, so the send has to wait.
        using PeriodicTimer timer = new(TimeSpan.FromMilliseconds(200));
        await timer.WaitForNextTickAsync().InTime();
        await kernel.AssertSleepsAsync();

        Payload.AssertEqual(sent, await pair.Client.ReceiveExactlyAsync(sent.Length));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Send_RefusedOnANonBlockingDescriptor_MakesItBlocking(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Socket view = pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket;
        view.Blocking = false;
        Assert.True(ProcessState.IsNonBlocking(view.Handle));
        Fault fault = kernel.Inject(OperationKind.Send, Errno.EAGAIN);

        await pair.AssertWorksAsync();

        await fault.SpentAsync();
        Assert.False(ProcessState.IsNonBlocking(view.Handle));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Send_Refused_AbortDoesNotWaitForIt(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.Send, Errno.ENOBUFS, int.MaxValue);
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();

        pair.Server.Abort();

        await pair.Client.AssertResetAsync();
        await pair.DisposeAsync();
        fault.End();
        await server.AssertServesAsync();
    }
}
