using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using IoUringCache.Transport.ZeroCopy;

namespace IoUringCache.Transport.Tests.Buffers;

/// <summary>The pool gives back what was needed only while there was load.</summary>
public sealed class SendSegmentTrimTests
{
    private readonly SendSegmentPool _pool = new();

    [Fact]
    public void Trim_AfterAnIntervalInWhichNothingWasNeeded_KeepsNothing()
    {
        UseEachKind(_pool, 10);
        Assert.Equal(40, _pool.KeptCount);

        // They were needed in this interval.
        _pool.Trim();
        Assert.Equal(40, _pool.KeptCount);

        _pool.Trim();
        Assert.Equal(0, _pool.KeptCount);
    }

    [Fact]
    public void Trim_WhatAMomentOfTheIntervalNeeded_Stays()
    {
        UseEachKind(_pool, 10);
        _pool.Trim();
        for (int interval = 0; interval < 5; interval++)
        {
            UseEachKind(_pool, 1);
            UseEachKind(_pool, 3);
            UseEachKind(_pool, 2);
            _pool.Trim();
            Assert.Equal(4 * 3, _pool.KeptCount);
        }
    }

    [Fact]
    public void Trim_SegmentsInUse_AreKeptWhenTheyComeBack()
    {
        UseEachKind(_pool, 10);
        SendSegment used = _pool.Rent(1);
        _pool.Trim();
        _pool.Trim();
        Assert.Equal((0, 1), (_pool.KeptCount, _pool.RentedCount));

        _pool.Return(used);
        Assert.Same(used, _pool.Rent(1));
    }

    /// <summary>What the pools of so many loops keep in all.</summary>
    [Theory]
    [InlineData(1, 32)]
    [InlineData(8, 256)]
    [InlineData(16, 256)]
    [InlineData(128, 256)]
    public void Return_ToThePoolsOfManyLoops_KeepsSoMuchInAll(int loopCount, int mebibytes)
    {
        SendSegmentPool pool = new(loopCount);
        long bytes = 0;
        foreach ((int size, int count) in new[]
        {
            (SendSegmentPool.SmallSize, 5000),
            (SendSegmentPool.MediumSize, 600),
            (SendSegmentPool.LargeSize, 150),
        })
        {
            int before = pool.KeptCount;
            SendSegment[] segments = [.. Enumerable.Range(0, count).Select(_ => pool.Rent(size))];
            Array.ForEach(segments, pool.Return);
            bytes += (long)size * (pool.KeptCount - before);
        }

        Assert.Equal((long)mebibytes << 20, bytes * loopCount);
    }

    [Fact]
    public async Task Loop_EachTenSeconds_TrimsUntilItEnds()
    {
        IoUringRequirement.Check();
        ManualTime time = new();
        EventLoopSettings settings = new(2, 8, 2, 512, ApplicationScheduling.Adaptive) { Time = time };
        EventLoopGroup group = await EventLoopGroup.AcquireAsync(settings).InTime();
        EventLoop[] loops = [group.Next(), group.Next()];
        Array.ForEach(loops, loop => UseEachKind(loop.SendSegments, 5));

        time.PassPeriod();
        Assert.All(loops, loop => Assert.Equal(20, loop.SendSegments.KeptCount));
        time.PassPeriod();
        Assert.All(loops, loop => Assert.Equal(0, loop.SendSegments.KeptCount));

        await group.ReleaseAsync().InTime();
        Assert.Equal(0, time.TimerCount);
    }

    private static void UseEachKind(SendSegmentPool pool, int count)
    {
        ZeroCopySource loan = ZeroCopySource.Of(new byte[100]);
        SendSegment[] segments =
        [
            .. Enumerable.Range(0, count).SelectMany(_ => new[]
            {
                pool.Rent(SendSegmentPool.SmallSize),
                pool.Rent(SendSegmentPool.MediumSize),
                pool.Rent(SendSegmentPool.LargeSize),
                pool.RentFor(loan),
            }),
        ];
        Array.ForEach(segments, pool.Return);
    }
}
