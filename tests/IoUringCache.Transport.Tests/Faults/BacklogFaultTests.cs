using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>Pauses of accepting for a backlog, where the kernel does not play along.</summary>
public sealed class BacklogFaultTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Pause_CancellationIsRefused_TriesAgainAndNoConnectionIsLost(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        ConnectionPair[] busy = [await server.ConnectAsync(), await server.ConnectAsync()];
        Fault refused = kernel.RefuseCancellation(OperationKind.Accept, Errno.EALREADY);
        await BusyAsync(busy);
        await Deadline.UntilAsync(() => refused.StrikeCount >= 2, () => "It did not try to cancel the accept, or not again.");

        // What the kernel accepts nevertheless is served.
        await server.AssertServesAsync();
        refused.End();
        await EndAsync(busy);
        await server.AssertServesAsync();
        await kernel.AssertSleepsAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Pause_AcceptEndedByItself_IsArmedAgainOnceThereIsRoom(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await StartAsync(kernel, kind);
        for (int round = 0; round < 5; round++)
        {
            ConnectionPair[] busy = [await server.ConnectAsync(), await server.ConnectAsync()];
            Fault accepts = kernel.Watch(OperationKind.Accept);
            kernel.CancelLatest(OperationKind.Accept);
            await BusyAsync(busy);
            await EndAsync(busy);
            await server.AssertServesAsync();
            Assert.True(accepts.StrikeCount >= 1);
            accepts.End();
        }
    }

    private static Task<TransportServer> StartAsync(FaultKernel kernel, TransportKind kind) => FaultTest.StartAsync(
        kernel, kind, options => options.MaxBusyConnectionsPerLoop = 1);

    private static async Task BusyAsync(ConnectionPair[] pairs)
    {
        foreach (ConnectionPair pair in pairs)
        {
            await pair.Client.SendAllAsync("a"u8.ToArray());
        }
    }

    private static async Task EndAsync(ConnectionPair[] pairs)
    {
        foreach (ConnectionPair pair in pairs)
        {
            await pair.DisposeAsync();
        }
    }
}
