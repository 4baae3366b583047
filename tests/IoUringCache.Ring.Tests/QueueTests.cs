using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class QueueTests : RingTest
{
    [Theory]
    [InlineData(4, 8)]
    [InlineData(8, 8)]
    [InlineData(64, 256)]
    public void Prepare_HundredsOfOperationsIntoASmallRing_EachCompletesOnce(int submissionEntries, int completionEntries)
    {
        const int Operations = 500;
        using KernelRing ring = CreateRing(submissionEntries, completionEntries);

        for (int slot = 0; slot < Operations; slot++)
        {
            ring.Submissions.PrepareNop(Tag(slot));
        }

        List<Completion> completions = Reap(ring, Operations);
        Assert.Equal(Enumerable.Range(0, Operations), completions.Select(completion => completion.UserData.Slot).Order());
        Assert.True(ring.Completions.IsEmpty);
        Assert.False(ring.Completions.HasOverflowed);
        Assert.Equal((Operations, Operations), (ring.SubmittedCount, ring.Completions.CompletedCount));
    }

    [Fact]
    public void Completions_MoreThanFit_OverflowAndAreAllDelivered()
    {
        const int Operations = 40;
        using KernelRing ring = CreateRing(submissionEntries: 8, completionEntries: 8);
        for (int slot = 0; slot < Operations; slot++)
        {
            ring.Submissions.PrepareNop(Tag(slot));
        }

        ring.SubmitAndWait(0);
        Assert.True(ring.Completions.HasOverflowed);

        List<Completion> completions = [];
        Completion[] batch = new Completion[8];
        for (int round = 0; round < Operations; round++)
        {
            completions.AddRange(batch.AsSpan(0, ring.Completions.Drain(batch)));

            // Nothing to submit and nothing to wait for: only the overflow causes the enter.
            ring.SubmitAndWait(0);
        }

        Assert.Equal(Enumerable.Range(0, Operations), completions.Select(completion => completion.UserData.Slot));
        Assert.False(ring.Completions.HasOverflowed);
    }

    [Fact]
    public void Drain_SmallDestination_LeavesTheRestInTheQueue()
    {
        using KernelRing ring = CreateRing();
        for (int slot = 0; slot < 5; slot++)
        {
            ring.Submissions.PrepareNop(Tag(slot));
        }

        ring.SubmitAndWait(5, Patience);
        Completion[] batch = new Completion[3];

        Assert.Equal(3, ring.Completions.Drain(batch));
        Assert.False(ring.Completions.IsEmpty);
        Assert.Equal(2, ring.Completions.Drain(batch));
        Assert.Equal([3, 4], batch[..2].Select(completion => completion.UserData.Slot));
        Assert.Equal(0, ring.Completions.Drain(batch));
        Assert.Equal(0, ring.Completions.Drain([]));
    }

    [Theory]
    [InlineData(0, false, Errno.None)]
    [InlineData(4096, false, Errno.None)]
    [InlineData(-104, true, Errno.ECONNRESET)]
    [InlineData(-105, true, Errno.ENOBUFS)]
    [InlineData(-125, true, Errno.ECANCELED)]
    public void NopWithResult_AnyResult_ComesBack(int result, bool isError, Errno error)
    {
        RequireInjectedResults();
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareNopWithResult(result, Tag(3));

        Completion completion = ReapOne(ring);

        Assert.Equal((result, isError, error), (completion.Result, completion.IsError, completion.Error));
        Assert.Equal(Tag(3), completion.UserData);
        Assert.False(completion.HasMore);
        Assert.False(completion.HasBuffer);
    }

    [Fact]
    public void PendingCount_BeforeAndAfterSubmission_CountsWhatTheKernelHasNotConsumed()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareNop(Tag(0));
        ring.Submissions.PrepareNop(Tag(1));
        Assert.Equal(2, ring.Submissions.PendingCount);

        ring.SubmitAndWait(0);

        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    [Fact]
    public void Queues_AfterDispose_RefuseAndShowNothing()
    {
        KernelRing ring = CreateRing();
        ring.Submissions.PrepareNop(Tag(0));
        ring.SubmitAndWait(1, Patience);
        ring.Dispose();
        ring.Dispose();

        Assert.Throws<ObjectDisposedException>(() => ring.Submissions.PrepareNop(Tag(1)));
        Assert.Throws<ObjectDisposedException>(() => ring.SubmitAndWait(0));
        Assert.Throws<ObjectDisposedException>(() => ring.RegisterBuffers(0, 1, 1));
        Assert.Equal(0, ring.Submissions.PendingCount);
        Assert.True(ring.Completions.IsEmpty);
        Assert.False(ring.Completions.HasOverflowed);
        Assert.Equal(0, ring.Completions.Drain(new Completion[1]));
    }
}
