using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>A loop whose thread application code blocks, and how it gets home again.</summary>
public sealed class ReassignmentTests
{
    [Fact]
    public async Task Call_Blocks_SpareGoesOnUntilItReturns()
    {
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        using BlockingCall call = await BlockAtHomeAsync(loop, home);

        Assert.NotEqual(home, await ThreadOfAsync(loop));
        call.Release();
        await call.Left.InTime();
        await AtHomeAsync(loop, home);
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Calls_BlockOneAfterTheOther_LoopComesHomeEachTime()
    {
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        for (int round = 0; round < 20; round++)
        {
            using BlockingCall first = new();
            using BlockingCall second = new();
            loop.Schedule(first);
            await first.Entered.InTime();
            loop.Schedule(second);
            await second.Entered.InTime();
            await ThreadOfAsync(loop);

            // In either order.
            (round % 2 == 0 ? first : second).Release();
            await ThreadOfAsync(loop);
            first.Release();
            second.Release();
            await AtHomeAsync(loop, home);
        }

        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Call_ThatBlocked_RunsOffTheLoopUntilItHasBehaved()
    {
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        RepeatedCall call = new();
        call.BlockNext();
        loop.Schedule(call);
        await call.Entered.InTime();
        await ThreadOfAsync(loop); // Answered by a spare: it was reassigned.
        call.Release();
        await AtHomeAsync(loop, home);

        int offLoop = 0;
        while (await call.RunAsync(loop) is var thread && thread != home)
        {
            offLoop++;
        }

        Assert.InRange(offLoop, 16, 1000);
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Loop_Stops_WhileACallBlocks()
    {
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        using BlockingCall call = new();
        loop.Schedule(call);
        await call.Entered.InTime();
        await group.ReleaseAsync().InTime();
        call.Release();
        await call.Left.InTime();
        await ProcessState.LoopsEndedAsync();
    }

    [Fact]
    public async Task Loop_Breaks_WhileACallBlocks()
    {
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        using BlockingCall call = new();
        loop.Schedule(call);
        await call.Entered.InTime();
        FailingItem item = new();
        loop.Request(item, 1);
        await item.Failed.InTime();
        await Assert.ThrowsAsync<IoUringException>(() => group.ReleaseAsync().InTime());
        call.Release();
        await call.Left.InTime();
        await ProcessState.LoopsEndedAsync();
    }

    [Fact]
    public async Task Calls_FloodTheLoop_RunOffItUntilTheyReturn()
    {
        const int MaxBlocked = 8;
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        BlockingCall[] calls = [.. Enumerable.Range(0, MaxBlocked + 20).Select(_ => new BlockingCall())];
        foreach (BlockingCall call in calls)
        {
            loop.Schedule(call);
            await call.Entered.InTime();
        }

        // The last ones have threads that never have the loop, and so has whatever comes now, even if it does not block.
        CountingCallback other = new(loop, 1);
        loop.Schedule(other);
        Assert.False(await other.Done.InTime());
        Assert.InRange(ProcessState.SpareThreadCount, MaxBlocked, (2 * MaxBlocked) - 1);

        Array.ForEach(calls, call => call.Release());
        await Task.WhenAll(calls.Select(call => call.Left)).InTime();
        await AtHomeAsync(loop, home);
        Array.ForEach(calls, call => call.Dispose());
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Spares_AfterTheirTurn_StayUntilTheLoopEnds()
    {
        await ProcessState.LoopsEndedAsync();
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        for (int round = 0; round < 3; round++)
        {
            using BlockingCall call = new();
            loop.Schedule(call);
            await call.Entered.InTime();
            await ThreadOfAsync(loop);
            call.Release();
            await AtHomeAsync(loop, home);
            Assert.InRange(ProcessState.SpareThreadCount, 1, 15);
        }

        await group.ReleaseAsync().InTime();
        await ProcessState.LoopsEndedAsync();
    }

    [Fact]
    public async Task Reassignments_BetweenCollections_LoopComesHomeEachTime()
    {
        const int Rounds = 100;
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        int home = await HomeOfAsync(loop);
        for (int round = 0; round < Rounds; round++)
        {
            using BlockingCall call = new();
            loop.Schedule(call);
            await call.Entered.InTime();
            GC.Collect();
            await ThreadOfAsync(loop);
            call.Release();
            await AtHomeAsync(loop, home);
        }

        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Call_ReturnsInTheMidstOfAReassignment_OneThreadHasTheLoop()
    {
        const int Rounds = 5000;
        IoUringRequirement.Check();
        using HandlerThreads handlers = new();
        AdaptiveDispatcher dispatcher = null!;
        EventLoop loop = new(
            new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Adaptive),
            0,
            loop => dispatcher = new AdaptiveDispatcher(loop, 0, handlers, static () => { }),
            static _ => { });
        await loop.Start().InTime();
        int home = await HomeOfAsync(loop);
        for (int round = 0; round < Rounds; round++)
        {
            // This test is the watchdog: the call returns as soon as the gate is closed behind it, before the loop has its new owner.
            CallUntilReassigned call = new(dispatcher);
            loop.Schedule(call);
            long number = await call.Entered.InTime();
            dispatcher.Reassign(number);
            await AtHomeAsync(loop, home);
        }

        await loop.StopAsync().InTime();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task Requests_WhileTheLoopChangesHands_AreAllHandled(int seed)
    {
        const int Producers = 4;
        const int PerProducer = 3000;
        (EventLoopGroup group, EventLoop loop) = await StartAsync();
        Task producing = Task.WhenAll(Enumerable.Range(0, Producers).Select(_ => Task.Run(async () =>
        {
            // One request at a time, so that the owner falls asleep between them: one lost wake-up is a hang.
            CountingItem item = new();
            for (int i = 0; i < PerProducer; i++)
            {
                Task handled = item.Next();
                loop.Request(item, 1);
                await handled.InTime();
            }
        })));

        Random random = new(seed);
        while (!producing.IsCompleted)
        {
            BlockingCall[] calls = [.. Enumerable.Range(0, random.Next(1, 4)).Select(_ => new BlockingCall())];
            foreach (BlockingCall call in calls)
            {
                loop.Schedule(call);
                await call.Entered.InTime();
            }

            random.Shuffle(calls);
            foreach (BlockingCall call in calls)
            {
                if (random.Next(2) == 0)
                {
                    await ThreadOfAsync(loop);
                }

                call.Release();
                await call.Left.InTime();
                call.Dispose();
            }
        }

        await producing.InTime();
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Gate_OfReturnAndReassignment_LetsOneWin()
    {
        const int Rounds = 5000;
        DispatchGate gate = new();
        ThreadRecorder dispatch = new();
        using Barrier barrier = new(2);
        int reassigned = 0;
        Task watching = Task.Run(() =>
        {
            for (int round = 0; round < Rounds; round++)
            {
                barrier.SignalAndWait(Deadline.Limit);
                if (gate.TryBeginReassign(gate.CurrentCall))
                {
                    reassigned++;
                    gate.EndReassign();
                }

                barrier.SignalAndWait(Deadline.Limit);
            }
        });
        int left = 0;
        await Task.Run(() =>
        {
            for (int round = 0; round < Rounds; round++)
            {
                long call = gate.Enter(dispatch);
                barrier.SignalAndWait(Deadline.Limit);
                left += gate.TryLeave(call) ? 1 : 0;
                barrier.SignalAndWait(Deadline.Limit);
                Assert.False(gate.IsInApplication);
            }
        }).InTime();
        await watching.InTime();
        Assert.Equal(Rounds, left + reassigned);
    }

    private static async Task<(EventLoopGroup Group, EventLoop Loop)> StartAsync()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(
            new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Adaptive)).InTime();
        return (group, group.Next());
    }

    /// <summary>A busy machine makes any call look blocked, so the first one that is asked may be a spare.</summary>
    private static async Task<int> HomeOfAsync(EventLoop loop)
    {
        using CancellationTokenSource limit = new(Deadline.Limit);
        while (true)
        {
            ThreadRecorder recorder = new();
            loop.Schedule(recorder);
            int thread = await recorder.Ran.InTime();
            if (recorder.ThreadName == "io_uring loop 0")
            {
                return thread;
            }

            Assert.False(limit.IsCancellationRequested, "The loop did not come home.");
        }
    }

    /// <summary>A call that keeps the home thread, and not a spare that has the loop just then.</summary>
    private static async Task<BlockingCall> BlockAtHomeAsync(EventLoop loop, int home)
    {
        while (true)
        {
            await AtHomeAsync(loop, home);
            BlockingCall call = new();
            loop.Schedule(call);
            if (await call.Entered.InTime() == home)
            {
                return call;
            }

            call.Dispose();
        }
    }

    private static async Task<int> ThreadOfAsync(EventLoop loop)
    {
        ThreadRecorder recorder = new();
        loop.Schedule(recorder);
        return await recorder.Ran.InTime();
    }

    private static async Task AtHomeAsync(EventLoop loop, int home)
    {
        using CancellationTokenSource limit = new(Deadline.Limit);
        while (await ThreadOfAsync(loop) != home)
        {
            Assert.False(limit.IsCancellationRequested, "The loop did not come home.");
        }
    }
}
