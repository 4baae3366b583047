using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>The counters of both queues wrap at 2^32; a busy server gets there within hours.</summary>
public sealed class QueueWrapAroundTests
{
    private const uint JustBeforeTheEnd = uint.MaxValue - 2;

    [Theory]
    [InlineData(0)]
    [InlineData(JustBeforeTheEnd)]
    [InlineData(uint.MaxValue)]
    public void Submissions_AcrossTheEndOfTheCounter_ReachTheKernelInOrder(uint firstCounter)
    {
        using SimulatedRing ring = new(firstCounter);
        UserData[] prepared = [.. Enumerable.Range(0, 11).Select(slot => new UserData(1, 0, slot))];

        Array.ForEach(prepared, ring.Submissions.PrepareNop);

        // Two full queues were submitted already, and three entries wait for a submission.
        Assert.Equal(prepared[..8], ring.Consumed);
        Assert.Equal(3, ring.Submissions.PendingCount);
        Assert.Equal(3u, ring.Submissions.Publish());
        ring.Consume(3);
        Assert.Equal(prepared, ring.Consumed);
        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(JustBeforeTheEnd)]
    [InlineData(uint.MaxValue)]
    public void Completions_AcrossTheEndOfTheCounter_AreDrainedInOrder(uint firstCounter)
    {
        using SimulatedRing ring = new(firstCounter);
        Completion[] batch = new Completion[SimulatedRing.CompletionEntries];
        List<int> results = [];
        for (int round = 0; round < 5; round++)
        {
            for (int index = 0; index < 5; index++)
            {
                ring.Complete(new UserData(1, 0, index), (round * 5) + index);
            }

            int count = ring.Completions.Drain(batch);
            results.AddRange(batch[..count].Select(completion => completion.Result));
            Assert.True(ring.Completions.IsEmpty);
        }

        Assert.Equal(Enumerable.Range(0, 25), results);
        Assert.Equal(unchecked(firstCounter + 25), ring.SharedCompletionHead);
        Assert.Equal(25, ring.Completions.CompletedCount);
    }

    [Fact]
    public void Completions_FullQueue_IsDrainedWhole()
    {
        using SimulatedRing ring = new(JustBeforeTheEnd);
        for (int index = 0; index < SimulatedRing.CompletionEntries; index++)
        {
            ring.Complete(new UserData(1, 0, index), index);
        }

        Completion[] batch = new Completion[SimulatedRing.CompletionEntries];

        Assert.Equal(SimulatedRing.CompletionEntries, ring.Completions.Drain(batch));
        Assert.Equal(Enumerable.Range(0, SimulatedRing.CompletionEntries), batch.Select(completion => completion.UserData.Slot));
    }

    [Fact]
    public void Submissions_ShortSubmission_LeavesTheRestPending()
    {
        using SimulatedRing ring = new(JustBeforeTheEnd);
        ring.Kernel.OnEnter = toSubmit => ring.Consume(1);
        for (int slot = 0; slot < 5; slot++)
        {
            ring.Submissions.PrepareNop(new UserData(1, 0, slot));
        }

        Assert.Equal([0], ring.Consumed.Select(userData => userData.Slot));
        Assert.Equal(4, ring.Submissions.PendingCount);
    }

    [Fact]
    public void Submissions_FullAndKernelBusyForAWhile_GoOn()
    {
        using SimulatedRing ring = new(0);
        int refusals = 20;
        ring.Kernel.OnEnter = toSubmit => refusals-- > 0 ? FakeKernel.Failure(Errno.EAGAIN) : ring.Consume(toSubmit);
        for (int slot = 0; slot < 5; slot++)
        {
            ring.Submissions.PrepareNop(new UserData(1, 0, slot));
        }

        Assert.Equal([0, 1, 2, 3], ring.Consumed.Select(userData => userData.Slot));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(JustBeforeTheEnd)]
    public void Submissions_FullUntilCompletionsAreTaken_SetThemAsideInOrder(uint firstCounter)
    {
        using SimulatedRing ring = new(firstCounter);
        ring.Kernel.OnEnter = toSubmit =>
            ring.SharedCompletionHead == firstCounter ? FakeKernel.Failure(Errno.EBUSY) : ring.Consume(toSubmit);
        for (int index = 0; index < SimulatedRing.CompletionEntries; index++)
        {
            ring.Complete(new UserData(2, 0, index), index);
        }

        for (int slot = 0; slot < 5; slot++)
        {
            ring.Submissions.PrepareNop(new UserData(1, 0, slot));
        }

        Assert.Equal([0, 1, 2, 3], ring.Consumed.Select(userData => userData.Slot));
        Assert.False(ring.Completions.IsEmpty);
        Assert.Equal(SimulatedRing.CompletionEntries, ring.Completions.AsideCount);
        Assert.Equal(0, ring.Completions.CompletedCount);

        // Later completions stay behind those set aside.
        ring.Complete(new UserData(2, 0, 8), 8);
        Completion[] batch = new Completion[5];
        List<int> results = [];
        int count;
        while ((count = ring.Completions.Drain(batch)) != 0)
        {
            results.AddRange(batch[..count].Select(completion => completion.Result));
        }

        Assert.Equal(Enumerable.Range(0, 9), results);
        Assert.True(ring.Completions.IsEmpty);
        Assert.Equal(9, ring.Completions.CompletedCount);
    }

    [Fact]
    public void Submissions_FullAndKernelBusyForEver_Throw()
    {
        using SimulatedRing ring = new(0);
        ring.Kernel.OnEnter = _ => FakeKernel.Failure(Errno.EBUSY);
        for (int slot = 0; slot < SimulatedRing.SubmissionEntries; slot++)
        {
            ring.Submissions.PrepareNop(new UserData(1, 0, slot));
        }

        IoUringException failure = Assert.Throws<IoUringException>(() => ring.Submissions.PrepareNop(new UserData(1, 0, 9)));

        Assert.Equal(Errno.EBUSY, failure.Error);
        Assert.Equal(SimulatedRing.SubmissionEntries, ring.Submissions.PendingCount);
    }
}
