using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>What wakes a loop in a short wait and one that sleeps; the test plays the loop, and other threads publish.</summary>
public sealed class PostQueueShortWaitTests : IDisposable
{
    private readonly PostQueue _queue = new();
    private readonly LoopThread _loop;
    private readonly KernelRing _ring;

    public PostQueueShortWaitTests()
    {
        IoUringRequirement.Check();
        _ring = KernelRing.Create(new RingOptions { SubmissionEntries = 8 });
        _loop = new LoopThread(0, "never started", _ => { });
        _ring.Submissions.PrepareReadEvent(_loop.Event, new UserData(1, 0, 0));
        _ring.SubmitAndWait(0);
        _queue.Owner = _loop;
    }

    public void Dispose()
    {
        _ring.Dispose();
        _loop.Dispose();
    }

    [Theory]
    [InlineData(false, false, true)]
    [InlineData(false, true, true)]
    [InlineData(true, false, true)]
    [InlineData(true, true, false)]
    public void Post_WakesALoopThatSleeps_AndOneInAShortWaitUnlessItCanWait(bool isShortWait, bool canWait, bool wakes)
    {
        Assert.True(_queue.TryBeginSleep(isShortWait));
        _queue.Post(new CountingItem(), canWait);
        Assert.Equal(wakes, IsWoken());
    }

    [Fact]
    public void WakeNow_AfterAPostThatCanWait_EndsAShortWait()
    {
        Assert.True(_queue.TryBeginSleep(isShortWait: true));
        _queue.Post(new CountingItem(), canWait: true);
        _queue.WakeNow();
        Assert.True(IsWoken());
    }

    [Fact]
    public void Post_OfWork_EndsAShortWait()
    {
        Assert.True(_queue.TryBeginSleep(isShortWait: true));
        _queue.Post(new RepeatedCall());
        Assert.True(IsWoken());
    }

    [Fact]
    public void EndBatch_EndsAShortWait()
    {
        Assert.True(_queue.TryBeginSleep(isShortWait: true));
        _queue.BeginBatch();
        _queue.Post(new CountingItem(), canWait: true);
        Assert.False(IsWoken());
        _queue.EndBatch();
        Assert.True(IsWoken());
    }

    [Fact]
    public void TryBeginSleep_SomethingIsPublished_IsRefused()
    {
        _queue.Post(new CountingItem(), canWait: true);
        Assert.False(_queue.TryBeginSleep(isShortWait: true));
        Assert.False(_queue.TryBeginSleep());
    }

    [Fact]
    public void TakeFlushed_TellsOnceOfWhatCanWait()
    {
        _queue.Post(new CountingItem());
        Assert.False(_queue.TakeFlushed());
        _queue.Post(new CountingItem(), canWait: true);
        Assert.True(_queue.TakeFlushed());
        Assert.False(_queue.TakeFlushed());
    }

    private bool IsWoken()
    {
        _ring.SubmitAndWait(0);
        return _ring.Completions.Drain(new Completion[1]) == 1;
    }
}
