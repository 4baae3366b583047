using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>What the wait for room between two pieces of a file may end with.</summary>
public sealed class FileFaultTests
{
    private const int Length = 24 * 1024 * 1024;

    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.ECANCELED, Errno.ENOMEM, Errno.EAGAIN];
    private static readonly Errno[] s_refusals = [Errno.EALREADY, Errno.ENOMEM];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    public static TheoryData<TransportKind, Errno> Refusals => Transports.IoUringWith(s_refusals);

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Room_PassingError_FileArrivesWhole(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        using TestFile file = new(Length);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.PollWritable, error, times: 3);

        Task<FlushResult> flush = SendAsync(pair, file);

        Payload.AssertEqual(file.Content, await pair.Client.ReceiveExactlyAsync(Length));
        await flush.InTime();
        await fault.SpentAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Room_NoMemoryForAWhile_IsNotTriedInAHurry(TransportKind kind)
    {
        using FaultKernel kernel = new();
        using TestFile file = new(Length);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        Fault fault = kernel.Inject(OperationKind.PollWritable, Errno.ENOMEM, int.MaxValue);
        Task<FlushResult> flush = SendAsync(pair, file);

        await fault.AssertNotInAHurryAsync();

        Payload.AssertEqual(file.Content, await pair.Client.ReceiveExactlyAsync(Length));
        await flush.InTime();
    }

    [Theory]
    [MemberData(nameof(Refusals))]
    public async Task Abort_CancellationOfTheWaitIsRefused_IsTriedAgain(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        using TestFile file = new(Length);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        Fault waits = kernel.Watch(OperationKind.PollWritable);
        Fault fault = kernel.RefuseCancellation(OperationKind.PollWritable, error);
        Task<FlushResult> flush = SendAsync(pair, file);
        await UntilItStandsStillAsync(waits);

        pair.Server.Abort();
        await Deadline.UntilAsync(() => fault.StrikeCount > 1, () => "The cancellation was not tried again.");
        fault.End();

        Assert.True((await flush.InTime()).IsCompleted);
        await pair.DisposeAsync();
        await Deadline.UntilAsync(() => file.DescriptorCount == 0, () => "The file is still open.");
        await server.AssertServesAsync();
    }

    /// <summary>The first waits end at once: the socket has room for more than a piece. The last one lasts, as the client does not read.</summary>
    private static async Task UntilItStandsStillAsync(Fault waits)
    {
        using PeriodicTimer timer = new(Deadline.Pause);
        using CancellationTokenSource limit = new(Deadline.Limit);
        int seen;
        do
        {
            seen = waits.StrikeCount;
            Assert.True(await timer.WaitForNextTickAsync(limit.Token));
        }
        while (seen == 0 || waits.StrikeCount != seen);
    }

    private static Task<FlushResult> SendAsync(ConnectionPair pair, TestFile file)
    {
        using SafeFileHandle handle = file.Open();
        IZeroCopyFeature connection = pair.Server.Features.Get<IZeroCopyFeature>()!;
        for (int offset = 0; offset < Length; offset += ZeroCopyOffer.MaxLength)
        {
            Assert.True(ZeroCopyOffer.TryWrite(connection, pair.Output, ZeroCopySource.Of(handle, offset, ZeroCopyOffer.MaxLength)));
        }

        return pair.Output.FlushAsync().AsTask();
    }
}
