using System.Diagnostics;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>A loop that is behind its clients and its applications, and hears of what both did in between at once.</summary>
public sealed class LateLoopTests
{
    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Server_DisposesWhileReceiveIsArmedAndWindowFull_ClientSeesReset(TransportKind kind)
    {
        using ManualResetEventSlim gate = new(initialState: true);
        using FaultKernel kernel = new();

        // The enter that finds the gate shut receives nothing, so that the dispose comes first.
        kernel.OnEnter = _ => gate.IsSet ? null : FaultKernel.Failure(gate.Wait(Deadline.Limit) ? Errno.EINTR : Errno.EBADR);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();

        gate.Reset();
        Task sending = pair.Client.SendUntilItFailsAsync();
        await UntilNothingMoreArrivesAsync(pair.Server.Features.Get<IConnectionSocketFeature>()!.Socket);
        Task disposing = pair.Server.DisposeAsync().AsTask();
        gate.Set();

        await sending;
        await disposing.InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Client_ResetsAfterAbortBeforeTheLoopHears_ReaderHasTheAbortsReason(TransportKind kind)
    {
        using ManualResetEventSlim gate = new(initialState: true);
        using FaultKernel kernel = new();
        TaskCompletionSource shut = new(TaskCreationOptions.RunContinuationsAsynchronously);
        kernel.OnEnter = _ =>
        {
            if (!gate.IsSet)
            {
                shut.TrySetResult();
            }

            return gate.Wait(Deadline.Limit) ? null : FaultKernel.Failure(Errno.EBADR);
        };
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();

        // The enter behind the gate takes what the client did; what the application asked for is looked at after it.
        gate.Reset();
        await pair.Client.SendAllAsync(new byte[1]);
        await shut.Task.InTime();
        ConnectionAbortedException reason = new("first");
        pair.Server.Abort(reason);
        pair.Client.Reset();
        gate.Set();

        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.TakeToEndAsync()));
    }

    /// <summary>A client fills the last of a window only after a while, by its first probe for more room.</summary>
    private static async Task UntilNothingMoreArrivesAsync(Socket socket)
    {
        int arrived = 0;
        Stopwatch since = new();
        await Deadline.UntilAsync(
            () =>
            {
                if (arrived != socket.Available)
                {
                    arrived = socket.Available;
                    since.Restart();
                }

                return since.Elapsed > 3 * Deadline.Pause;
            },
            () => $"After {arrived} bytes the client still sends.");
    }
}
