using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Cancellations that do not work at the first try, operations that outlive their connection, and descriptors that do not.</summary>
public sealed class CancellationFaultTests
{
    private static readonly Errno[] s_refusals = [Errno.EALREADY, Errno.ENOENT, Errno.EBUSY, Errno.ENOMEM];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Refusals => Transports.IoUringWith(s_refusals);

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Abort_CancellationsAreRefused_EndsTheConnection(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        Task<FlushResult> flush = await pair.Server.FlushUntilItWaitsAsync();

        // Both the receive and the send are in the kernel when the loop has served who comes after them.
        await server.AssertServesAsync();
        Fault fault = kernel.Inject(OperationKind.Cancel, error, times: 6);
        pair.Server.Abort();

        Assert.True((await flush.InTime()).IsCompleted);
        await pair.Server.DisposeAsync().InTime(); // Before the client reads, which would end the send by itself.
        await pair.Client.AssertResetAsync();
        await pair.DisposeAsync();
        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_ClientReadsNothing_DoesNotWaitForTheSend(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync(client => client.ReceiveBufferSize = 4096);
        _ = await pair.Server.FlushUntilItWaitsAsync();

        pair.Server.Abort();

        await pair.Server.DisposeAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Pause_CancellationIsRefused_StopsReceivingNevertheless(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxReadBufferSize = 1000);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.Cancel, error, times: 3);
        byte[] sent = Payload.Of(100_000);
        Task sending = pair.Client.SendAllAsync(sent);
        await fault.SpentAsync();

        Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
        await sending.InTime();
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_SendCompletesLate_NothingIsGivenBackBefore(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using EventDescriptor signal = EventDescriptor.Create();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        Fault hold = kernel.Hold(OperationKind.Send, signal);
        kernel.RefuseCancellation(OperationKind.Send, Errno.EALREADY);
        await pair.Output.WriteAsync("abcdefghijkl"u8.ToArray()).InTime();
        await hold.SpentAsync();
        OpenSocket socket = new(pair);

        pair.Server.Abort();
        Task disposing = pair.Server.DisposeAsync().AsTask();

        // The slot, the descriptor and the segment stay with the connection; others get their own.
        for (int i = 0; i < 10; i++)
        {
            await server.AssertServesAsync();
        }

        Assert.False(disposing.IsCompleted);
        Assert.True(socket.IsOpen);
        signal.Signal();
        await pair.Client.AssertResetAsync();
        await disposing.InTime();
        await pair.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Descriptor_ClosedByTheApplication_CostsNoOtherConnection(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        ConnectionPair aborted = await server.ConnectAsync();
        ConnectionPair completed = await server.ConnectAsync();

        CloseDescriptor(aborted);
        aborted.Server.Abort();
        await aborted.DisposeAsync();

        CloseDescriptor(completed);
        await completed.Output.CompleteAsync().InTime();
        await completed.Server.DisposeAsync().InTime();
        await completed.DisposeAsync();

        await other.AssertWorksAsync();

        static void CloseDescriptor(ConnectionPair pair)
        {
            nint descriptor = pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket.Handle;
            new SafeSocketHandle(descriptor, ownsHandle: true).Dispose();
        }
    }
}
