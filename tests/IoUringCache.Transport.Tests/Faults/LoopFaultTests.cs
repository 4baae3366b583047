using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Ring.Native;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>What <c>io_uring_enter</c> itself may answer, and what ends a loop.</summary>
public sealed class LoopFaultTests
{
    private const int LoopFailed = 21;

    private static readonly int[] s_lengths = [1, 5000, 70_000];
    private static readonly Errno[] s_passing = [Errno.EINTR, Errno.ETIME, Errno.EAGAIN, Errno.EBUSY];

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, Errno> Passing => Transports.IoUringWith(s_passing);

    /// <summary>With deferred task run, one call completes only a few operations.</summary>
    public static TheoryData<TransportKind, int> RungsThatOverflow => Transports.IoUringWith(
        Enumerable.Range(0, SetupRung.Ladder.Length).Where(rung => !SetupRung.Ladder[rung].Flags.HasFlag(SetupFlags.DeferTaskRun)));

    [Theory]
    [MemberData(nameof(Passing))]
    public async Task Enter_PassingErrorTwoTimesOfThree_LosesNothing(TransportKind kind, Errno error)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.Advanced.RingEntries = 8);
        int calls = 0;
        kernel.OnEnter = _ => ++calls % 3 == 0 ? null : FaultKernel.Failure(error);

        await EchoManyAsync(server, connections: 30);

        kernel.OnEnter = _ => null;
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Enter_TakesNothingForAWhile_IsNotTriedInAHurry(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        await pair.AssertWorksAsync();
        TaskCompletionSource refused = new(TaskCreationOptions.RunContinuationsAsynchronously);
        int left = 50;
        int before = kernel.EnterCount;
        kernel.OnEnter = toSubmit =>
        {
            if (toSubmit == 0 || left == 0)
            {
                return null;
            }

            if (--left == 0)
            {
                refused.SetResult();
            }

            return FaultKernel.Failure(Errno.EAGAIN);
        };

        Task works = pair.AssertWorksAsync();
        await refused.Task.InTime();
        await works.InTime();

        // Each refusal is followed by one wait that submits nothing, so it took fifty milliseconds and not one.
        Assert.InRange(kernel.EnterCount - before, 100, 200);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Enter_TakesOneEntryAtATime_EverythingIsDone(TransportKind kind)
    {
        using FaultKernel kernel = new();
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.Advanced.RingEntries = 8);
        kernel.MostSubmitted = 1;

        await EchoManyAsync(server, connections: 30);
    }

    [Theory]
    [MemberData(nameof(RungsThatOverflow))]
    public async Task Completions_MoreThanFit_AreAllTaken(TransportKind kind, int rung)
    {
        const int Connections = 400;
        using FaultKernel kernel = new();
        using ManualResetEventSlim gate = new();
        kernel.StopAtRung(rung);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.Advanced.RingEntries = 8);
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < Connections; i++)
        {
            pairs.Add(await server.ConnectAsync());
        }

        // The loop is held in its call while every client sends, so that one call completes more than its queue has room for.
        kernel.OnEnter = _ => gate.Wait(Deadline.Limit) ? null : FaultKernel.Failure(Errno.EBADR);
        await Task.WhenAll(pairs.Select((pair, index) => pair.Client.SendAllAsync(Payload.Of(100, index)))).InTime();
        gate.Set();

        byte[][] received = await Task.WhenAll(pairs.Select(pair => pair.Input.TakeAsync(100))).InTime();
        Assert.True(kernel.OverflowCount > 0, "The queue did not overflow.");
        for (int i = 0; i < Connections; i++)
        {
            Payload.AssertEqual(Payload.Of(100, i), received[i]);
        }

        // The multishot receives that ended with the overflow are armed again.
        await Task.WhenAll(pairs.Select(pair => pair.AssertWorksAsync())).InTime();
        await Task.WhenAll(pairs.Select(pair => pair.DisposeAsync().AsTask())).InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Wake_CannotBeArmed_LoopStillHears(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Wake, Errno.ENOMEM, int.MaxValue);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);
        await using ConnectionPair pair = await server.ConnectAsync();

        // The loop sleeps, and only this thread knows of the bytes.
        await pair.Output.WriteAsync("abc"u8.ToArray()).InTime();

        Assert.Equal("abc"u8.ToArray(), await pair.Client.ReceiveExactlyAsync(3));
        await fault.AssertNotInAHurryAsync();
        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Wake_RefusedForAWhile_IsArmedAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Fault fault = kernel.Inject(OperationKind.Wake, Errno.ENOMEM, times: 3);
        await using TransportServer server = await FaultTest.StartAsync(kernel, kind);

        await fault.SpentAsync();

        await server.AssertServesAsync();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Wake_RefusedWhileAnItemPausesAgainAndAgain_IsArmedAgain(TransportKind kind)
    {
        using FaultKernel kernel = new();
        Fault refusal = kernel.Inject(OperationKind.Wake, Errno.ENOMEM);
        EventLoopGroup group = await kernel.AcquireLoopsAsync(new EventLoopSettings(1, 8, 2, 512, Transports.SchedulingOf(kind))).InTime();
        EventLoop loop = group.Next();
        await refusal.SpentAsync();

        // In each turn in which a pause ends, the next one begins before the loop looks at its read.
        loop.Request(new PausingItem(loop), 1);
        Fault armed = kernel.Watch(OperationKind.Wake);
        await Deadline.UntilAsync(() => armed.StrikeCount > 0, () => "The read was not armed again.");

        await group.ReleaseAsync().InTime();
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_BreaksWithNoListenerOnIt_IsLoggedOncePerHost(TransportKind kind)
    {
        using FaultKernel kernel = new();
        TransportServer server = await FaultTest.StartAsync(kernel, kind, options => options.LoopCount = 3);
        IConnectionListener second = await server.Factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)).InTime();

        // The listeners accept on the loops 0 and 1, and the first connection is on the loop 2, which breaks.
        ConnectionPair pair = await server.ConnectAsync();
        kernel.OnEnter = _ => Thread.CurrentThread.Name == "io_uring loop 2" ? FaultKernel.Failure(Errno.EBADR) : null;
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        await Assert.ThrowsAsync<IoUringException>(pair.Input.TakeToEndAsync);
        await pair.DisposeAsync();

        LogEntry entry = Assert.Single(server.Log.Entries, entry => entry.Id.Id == LoopFailed);
        Assert.Equal(LogLevel.Error, entry.Level);
        Assert.Equal(Errno.EBADR, Assert.IsType<IoUringException>(entry.Exception).Error);
        for (int i = 0; i < 4; i++)
        {
            await server.AssertServesAsync();
        }

        await second.UnbindAsync().InTime();
        await second.DisposeAsync().InTime();
        await Assert.ThrowsAsync<IoUringException>(() => server.DisposeAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Loop_MeetsADefect_EndsAloneAndIsLogged(TransportKind kind)
    {
        using FaultKernel kernel = new();
        TransportServer server = await FaultTest.StartAsync(kernel, kind);
        ConnectionPair pair = await server.ConnectAsync();
        kernel.OnEnter = _ => throw new NotSupportedException("a defect");

        // The call that is under way may still bring these.
        await pair.Client.SendAllAsync("abc"u8.ToArray());

        await Assert.ThrowsAsync<NotSupportedException>(pair.Input.TakeToEndAsync);
        Assert.Equal("a defect", (await server.Log.WaitForAsync(LoopFailed)).Exception!.Message);
        await pair.DisposeAsync();
        await Assert.ThrowsAsync<NotSupportedException>(() => server.DisposeAsync().InTime());
    }

    /// <summary>Several connections at once, each with several rounds of several sizes.</summary>
    private static async Task EchoManyAsync(TransportServer server, int connections)
    {
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);
        await Task.WhenAll(Enumerable.Range(0, connections).Select(async index =>
        {
            using Socket client = await server.ConnectClientAsync();
            foreach (int length in s_lengths)
            {
                byte[] sent = Payload.Of(length, index);
                Task<byte[]> receiving = client.ReceiveExactlyAsync(length);
                await client.SendAllAsync(sent);
                Payload.AssertEqual(sent, await receiving.InTime());
            }
        })).InTime();
        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }
}
