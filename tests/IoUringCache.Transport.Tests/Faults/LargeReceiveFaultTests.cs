using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>What <see cref="ReceiveFaultTests"/> does to the multishot receive, done to the receives of a body that flows in.</summary>
public sealed class LargeReceiveFaultTests
{
    private const int BodyBytes = 200_000;

    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.EAGAIN, Errno.ENOMEM, Errno.ENOBUFS, Errno.ECANCELED];
    private static readonly Errno[] s_lasting = [Errno.EAGAIN, Errno.ENOMEM];
    private static readonly Errno[] s_final = [Errno.EIO, Errno.ETIMEDOUT, Errno.EINVAL, Errno.EBADF];
    private static readonly Errno[] s_refusals = [Errno.EALREADY, Errno.ENOENT, Errno.ENOMEM];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> Lasting => Transports.IoUringWith(s_lasting);

    public static TheoryData<TransportKind, Errno> Final => Transports.IoUringWith(s_final);

    public static TheoryData<TransportKind, Errno> Refusals => Transports.IoUringWith(s_refusals);

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Receive_PassingError_IsTriedAgain(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        Fault fault = kernel.Inject(OperationKind.Receive, error, times: 3);

        await pair.AssertWorksAsync(BodyBytes);

        await fault.SpentAsync();
        await pair.AssertWorksAsync(BodyBytes);
    }

    [Theory]
    [MemberData(nameof(Lasting))]
    public async Task Receive_ErrorForAWhile_IsNotTriedInAHurry(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        Fault fault = kernel.Inject(OperationKind.Receive, error, int.MaxValue);
        await pair.Client.SendAllAsync("a"u8.ToArray()); // If the receive in the kernel is a real one, the next is not.

        await fault.AssertNotInAHurryAsync();

        // Taken last: where the loop had not yet armed the next receive, the byte has had to wait for the end of the fault.
        await pair.Input.TakeAsync(1);
        await pair.AssertWorksAsync(BodyBytes);
    }

    [Theory]
    [MemberData(nameof(Final))]
    public async Task Receive_FinalError_EndsReadingOfThatConnectionOnly(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        await other.AssertWorksAsync();
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        Fault fault = kernel.Inject(OperationKind.Receive, error);
        await pair.Client.SendAllAsync("a"u8.ToArray());
        await fault.SpentAsync();

        IOException exception = await Assert.ThrowsAsync<IOException>(() => pair.Input.TakeAsync(2));

        Assert.Contains(error.ToString(), exception.Message, StringComparison.Ordinal);
        await server.Log.WaitForAsync(14);
        await other.AssertWorksAsync(BodyBytes);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_ClientResets_IsAResetForTheReader(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);

        pair.Client.Reset();

        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
        await server.Log.WaitForAsync(19);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_ClientEnds_IsTheEndForTheReader(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);

        await pair.Client.SendAllAsync(Payload.Of(BodyBytes));
        pair.Client.Shutdown(SocketShutdown.Send);

        Payload.AssertEqual(Payload.Of(BodyBytes), await pair.Input.TakeToEndAsync());
        await server.Log.WaitForAsync(6);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Receive_CancelledByNobody_GoesOn(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        for (int i = 0; i < 10; i++)
        {
            kernel.CancelLatest(OperationKind.Receive);
            await pair.AssertWorksAsync(BodyBytes);
        }
    }

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Switch_CancellationIsRefused_LosesNothing(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.RefuseCancellation(OperationKind.Receive, error);
        for (int i = 0; i < 5 || fault.StrikeCount == 0; i++)
        {
            await pair.AssertWorksAsync(BodyBytes);
        }

        fault.End();
        await pair.AssertWorksAsync(BodyBytes);
    }

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Abort_CancellationIsRefused_EndsTheConnection(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        Fault fault = kernel.Inject(OperationKind.Cancel, error, times: 3);
        Task<ReadResult> read = pair.Input.ReadAsync().AsTask();

        pair.Server.Abort();

        await Assert.ThrowsAsync<ConnectionAbortedException>(() => read.InTime());
        await pair.Client.AssertResetAsync();
        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Abort_ReceiveCompletesLate_TheDescriptorStaysOpenUntilThen(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using EventDescriptor signal = EventDescriptor.Create();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair other = await server.ConnectAsync();
        ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        Fault hold = kernel.HoldLargeReceive(signal);
        Fault refusal = kernel.RefuseCancellation(OperationKind.Receive, Errno.EALREADY);
        await pair.Client.SendAllAsync("a"u8.ToArray());
        await hold.SpentAsync();
        OpenSocket socket = new(pair);

        pair.Server.Abort();
        Task disposing = pair.Server.DisposeAsync().AsTask();

        await other.AssertWorksAsync();
        await Deadline.UntilAsync(() => refusal.StrikeCount > 0, () => "The receive was not cancelled.");
        Assert.False(disposing.IsCompleted);
        Assert.True(socket.IsOpen);
        signal.Signal();
        refusal.End();
        await pair.Client.AssertResetAsync();
        await disposing.InTime();
        await pair.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Application_DoesNotRead_LargeReceivesPauseAtTheLimit(TransportKind kind)
    {
        const int ReadLimit = 400_000;
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.MaxReadBufferSize = ReadLimit);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        byte[] sent = Payload.Of(16 * 1024 * 1024);
        Task sending = pair.Client.SendAllAsync(sent);
        await server.Log.WaitForAsync(4);

        ReadResult result = await pair.Input.ReadAsync().InTime();
        while (result.Buffer.Length < ReadLimit)
        {
            // Examined bytes do not count: what comes next is up to the limit again.
            pair.Input.AdvanceTo(result.Buffer.Start, result.Buffer.End);
            result = await pair.Input.ReadAsync().InTime();
        }

        pair.Input.AdvanceTo(result.Buffer.Start);
        Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
        await sending.InTime();
    }

    [Fact]
    public async Task Owner_StaysAway_LargeReceivesAreArmedAnew()
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, TransportKind.Adaptive);
        await using ConnectionPair pair = await ConnectFlowingAsync(kernel, server);
        await using ConnectionPair blocked = await server.ConnectAsync();
        Fault watch = kernel.WatchLargeReceives();
        using ManualResetEventSlim release = new();
        Task application = BlockAsync();
        await blocked.Client.SendAllAsync("a"u8.ToArray());

        // The client sends nothing, so it is the new owner that arms it.
        await Deadline.UntilAsync(() => watch.StrikeCount > 0, () => "The new owner armed no large receive.");
        await pair.AssertWorksAsync(BodyBytes);
        release.Set();
        await application.InTime();
        await pair.AssertWorksAsync(BodyBytes);

        async Task BlockAsync()
        {
            ReadResult read = await blocked.Input.ReadAsync().ConfigureAwait(false);
            blocked.Input.AdvanceTo(read.Buffer.End);
            release.Wait(Deadline.Limit);
        }
    }

    /// <summary>A connection in which a body flowed in, so that what waits in the kernel now is a large receive.</summary>
    private static async Task<ConnectionPair> ConnectFlowingAsync(FaultKernel kernel, TransportServer server)
    {
        Fault watch = kernel.WatchLargeReceives();
        ConnectionPair pair = await server.ConnectAsync();
        for (int tries = 0; watch.StrikeCount == 0; tries++)
        {
            Assert.True(tries < 100, "No body became one of large receives.");
            await pair.AssertWorksAsync(BodyBytes);
        }

        // What is left of the switch, the last receive of all, has come by then.
        await pair.AssertWorksAsync(BodyBytes);
        watch.End();
        return pair;
    }
}
