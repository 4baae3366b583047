using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Results of receives that no healthy socket gives.</summary>
public sealed class ReceiveFaultTests
{
    /// <summary>The first rung of the ladder on which receives go on outside of the loop's own calls.</summary>
    private const int CooperativeRung = 2;

    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS, Errno.ECANCELED];
    private static readonly Errno[] s_lasting = [Errno.EAGAIN, Errno.ENOMEM];
    private static readonly Errno[] s_final = [Errno.EIO, Errno.ETIMEDOUT, Errno.EINVAL, Errno.EBADF];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> Lasting => Transports.IoUringWith(s_lasting);

    public static TheoryData<TransportKind, Errno> Final => Transports.IoUringWith(s_final);

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Receive_PassingError_IsTriedAgain(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        Fault fault = kernel.Inject(OperationKind.Receive, error, times: 3);
        await using ConnectionPair pair = await server.ConnectAsync();

        await pair.AssertWorksAsync();

        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(Lasting))]
    public async Task Receive_ErrorForAWhile_IsNotTriedInAHurry(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        Fault fault = kernel.Inject(OperationKind.Receive, error, int.MaxValue);
        await using ConnectionPair pair = await server.ConnectAsync();

        await fault.AssertNotInAHurryAsync();

        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(Final))]
    public async Task Receive_FinalError_EndsReadingOfThatConnectionOnly(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        await other.AssertWorksAsync(); // Its receive is in the kernel, so the next one is the other's.
        kernel.Inject(OperationKind.Receive, error);
        await using ConnectionPair pair = await server.ConnectAsync();

        IOException exception = await Assert.ThrowsAsync<IOException>(() => pair.Input.ReadAsync().InTime());

        Assert.Contains(error.ToString(), exception.Message, StringComparison.Ordinal);
        TaskCompletionSource closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using (pair.Server.ConnectionClosed.Register(closed.SetResult))
        {
            await closed.Task.InTime();
        }

        await server.Log.WaitForAsync(14);
        await other.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_Reset_IsAResetForTheReader(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        kernel.Inject(OperationKind.Receive, Errno.ECONNRESET);
        await using ConnectionPair pair = await server.ConnectAsync();

        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());

        await server.Log.WaitForAsync(19);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_CancelledByNobody_GoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        for (int i = 0; i < 10; i++)
        {
            await pair.AssertWorksAsync();
            kernel.CancelLatest(OperationKind.Receive);
        }
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_EndsWithoutMoreAndWithoutError_IsArmedAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using EventDescriptor signal = EventDescriptor.Create();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        Fault fault = kernel.Hold(OperationKind.Receive, signal);
        await using ConnectionPair pair = await server.ConnectAsync();
        await fault.SpentAsync();

        // A completion above zero that names no buffer and announces no other: what is left of a multishot that the kernel stopped.
        signal.Signal();

        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_LeftAtUrgentDataByTheKernel_GoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        kernel.StopAtRung(CooperativeRung);
        using EventDescriptor never = EventDescriptor.Create();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        Fault fault = kernel.Hold(OperationKind.Receive, never);
        await using ConnectionPair pair = await server.ConnectAsync();
        await fault.SpentAsync();

        // The receive is in the kernel, data is there, and nothing will complete it.
        await pair.Client.SendAsync("!"u8.ToArray(), SocketFlags.OutOfBand).InTime();
        await pair.Client.SendAllAsync("abc"u8.ToArray());

        Assert.Equal("abc"u8.ToArray(), await pair.Input.TakeAsync(3));
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_OfANonBlockingDescriptor_WaitsWithoutSpinning(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxReadBufferSize = 1000);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.Blocking = false;

        // More than the limit: receiving pauses, and is armed again on the descriptor as it is now.
        await pair.AssertWorksAsync(3000);
        await pair.AssertWorksAsync(3000);
        await kernel.AssertSleepsAsync();
        await pair.AssertWorksAsync(3000);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_RefusedOnANonBlockingDescriptor_MakesItBlocking(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxReadBufferSize = 1000);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();
        Socket view = pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket;
        view.Blocking = false;
        Assert.True(ProcessState.IsNonBlocking(view.Handle));
        Fault fault = kernel.Inject(OperationKind.Receive, Errno.EAGAIN);

        await pair.AssertWorksAsync(3000);
        await fault.SpentAsync();
        await pair.AssertWorksAsync(3000);

        Assert.False(ProcessState.IsNonBlocking(view.Handle));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_Refused_AbortDoesNotWaitForIt(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        Fault fault = kernel.Inject(OperationKind.Receive, Errno.ENOMEM, int.MaxValue);
        ConnectionPair pair = await server.ConnectAsync();
        Task<ReadResult> read = pair.Input.ReadAsync().AsTask();

        pair.Server.Abort();

        await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
        await pair.Client.AssertResetAsync();
        await pair.DisposeAsync();
        fault.End();
        await server.AssertServesAsync();
    }
}
