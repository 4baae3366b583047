using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>The wake-up protocol between the threads that publish and the loop that sleeps.</summary>
public sealed class PostQueueTests
{
    [Fact]
    public async Task Post_FromManyThreads_LoopHandlesEveryRequest()
    {
        IoUringRequirement.Check();
        const int Producers = 4;
        const int PerProducer = 20_000;
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Inline)).InTime();
        EventLoop loop = group.Next();

        // One request at a time per producer: the next is made when the loop has handled this one, so the loop falls asleep all the time
        // and one lost wake-up is a hang.
        await Task.WhenAll(Enumerable.Range(0, Producers).Select(_ => Task.Run(async () =>
        {
            CountingItem item = new();
            for (int i = 1; i <= PerProducer; i++)
            {
                Task handled = item.Next();
                loop.Request(item, 1);
                await handled.WaitAsync(Deadline.Limit);
            }

            Assert.Equal(PerProducer, item.HandledCount);
        }))).InTime();
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Post_OfOneItemFromManyThreads_MergesRequestsAndLosesNone()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.ThreadPool)).InTime();
        EventLoop loop = group.Next();
        for (int round = 0; round < 2000; round++)
        {
            BitsItem item = new(0b1111);
            Parallel.For(0, 4, bit => loop.Request(item, 1 << bit));
            await item.AllSeen.InTime();
        }

        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Schedule_Inline_RunsEveryCallbackOnTheLoop()
    {
        IoUringRequirement.Check();
        const int Count = 10_000;
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Inline)).InTime();
        EventLoop loop = group.Next();
        CountingCallback callback = new(loop, Count);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < Count / 4; i++)
            {
                loop.Schedule(callback);
            }
        }))).InTime();
        Assert.True(await callback.Done.InTime(), "A callback ran off the loop.");
        await group.ReleaseAsync().InTime();
    }

    [Fact]
    public async Task Schedule_AfterTheLoopEnded_RunsOnTheThreadPool()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Inline)).InTime();
        EventLoop loop = group.Next();
        await group.ReleaseAsync().InTime();
        CountingCallback callback = new(loop, 1);
        loop.Schedule(callback);
        Assert.False(await callback.Done.InTime());
    }

    [Fact]
    public async Task Schedule_WhileTheLoopEnds_LosesNoCallback()
    {
        IoUringRequirement.Check();
        for (int round = 0; round < 50; round++)
        {
            EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Inline)).InTime();
            EventLoop loop = group.Next();
            CountingCallback callback = new(loop, 200);
            Task scheduling = Task.Run(() =>
            {
                for (int i = 0; i < 200; i++)
                {
                    loop.Schedule(callback);
                }
            });
            await group.ReleaseAsync().InTime();
            await scheduling.InTime();
            await callback.Done.InTime();
        }
    }

    [Fact]
    public async Task Request_JustBeforeTheEnd_DoesNotKeepTheLoop()
    {
        IoUringRequirement.Check();
        for (int round = 0; round < 300; round++)
        {
            EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.ThreadPool)).InTime();
            CountingItem item = new();
            Task handled = item.Next();
            group.Next().Request(item, 1);
            await group.ReleaseAsync().InTime();
            await handled.InTime();
        }
    }

    [Theory]
    [InlineData(ApplicationScheduling.ThreadPool)]
    [InlineData(ApplicationScheduling.Inline)]
    [InlineData(ApplicationScheduling.Adaptive)]
    public async Task Request_WhileTheLoopStops_WakesIt(ApplicationScheduling scheduling)
    {
        IoUringRequirement.Check();
        for (int round = 0; round < 50; round++)
        {
            EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, scheduling)).InTime();
            EventLoop loop = group.Next();
            HeldItem item = new(loop);
            loop.Request(item, 1);
            await item.Added.InTime();
            Task released = group.ReleaseAsync();
            await item.Stopping.InTime();
            loop.Request(item, 1);
            await released.InTime();
        }
    }

    [Fact]
    public async Task LastItem_LeavesInTheTurnThatStops_LoopEnds()
    {
        IoUringRequirement.Check();
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(new EventLoopSettings(1, 8, 2, 512, ApplicationScheduling.Inline)).InTime();
        EventLoop loop = group.Next();
        HeldItem item = new(loop, leavesAtStop: true);
        loop.Request(item, 1);
        await item.Added.InTime();
        using BlockingCall call = new();
        loop.Schedule(call);
        await call.Entered.InTime();

        // Nothing wakes the loop, which is awake: its read of wake-ups is still in the kernel.
        Task released = group.ReleaseAsync();
        call.Release();
        await released.InTime();
    }
}
