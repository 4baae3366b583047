using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

public sealed class KernelRingTests : RingTest
{
    private static readonly TimeSpan s_moment = TimeSpan.FromMilliseconds(5);

    [Fact]
    public void SubmitAndWait_NothingToDo_MakesNoSystemCall()
    {
        using KernelRing ring = CreateRing();

        Assert.Equal(SubmitOutcome.Completed, ring.SubmitAndWait(0));

        Assert.Equal(0, ring.EnterCount);
    }

    [Fact]
    public void SubmitAndWait_NothingCompletes_TimesOut()
    {
        using KernelRing ring = CreateRing();

        Assert.Equal(SubmitOutcome.TimedOut, ring.SubmitAndWait(1, s_moment));
        Assert.Equal(SubmitOutcome.TimedOut, ring.SubmitAndWait(1, TimeSpan.Zero));
        Assert.Equal(SubmitOutcome.TimedOut, ring.SubmitAndWait(1, TimeSpan.MinValue));

        Assert.Equal(3, ring.EnterCount);
    }

    [Fact]
    public void SubmitAndWait_CompletionsAreThere_ComesBackAtOnce()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareNop(Tag(0));

        Assert.Equal(SubmitOutcome.Completed, ring.SubmitAndWait(1, Patience));
        Assert.Equal(SubmitOutcome.Completed, ring.SubmitAndWait(1));

        Assert.Equal((2, 1), (ring.EnterCount, ring.SubmittedCount));
    }

    [Fact]
    public void Submit_NothingPrepared_MakesNoSystemCall()
    {
        using KernelRing ring = CreateRing();

        Assert.Equal(SubmitOutcome.Completed, ring.Submit());

        Assert.Equal(0, ring.EnterCount);
    }

    [Fact]
    public void Submit_DataHasCome_SubmitsAndLeavesTheReceiveToTheNextWait()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ring.RegisterBuffers(group: 1, count: 2, size: 16);
        ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, 1, Tag(1));
        ring.SubmitAndWait(0);
        pair.Far.Send([1]);
        ring.Submissions.PrepareNop(Tag(2));

        Assert.Equal(SubmitOutcome.Completed, ring.Submit());

        Assert.Equal(2, ring.SubmittedCount);
        Completion[] early = new Completion[4];
        int count = ring.Completions.Drain(early);
        Assert.Contains(Tag(2), early[..count].Select(completion => completion.UserData));
        if (ring.Description.Contains("deferred task run", StringComparison.Ordinal))
        {
            Assert.Equal(1, count);
            Assert.Equal(Tag(1), ReapOne(ring).UserData);
        }
    }

    [Theory]
    [InlineData(Errno.EINTR, SubmitOutcome.Interrupted, 1)]
    [InlineData(Errno.EAGAIN, SubmitOutcome.Busy, 2)]
    [InlineData(Errno.EBUSY, SubmitOutcome.Busy, 2)]
    public void Submit_PassingError_IsAnOutcomeAndLosesNothing(Errno error, SubmitOutcome outcome, int enters)
    {
        FakeKernel kernel = new() { OnEnter = toSubmit => toSubmit == 0 ? null : FakeKernel.Failure(error) };
        using KernelRing ring = KernelRing.Create(kernel, Options(8, 16));
        ring.Submissions.PrepareNop(Tag(5));

        Assert.Equal(outcome, ring.Submit());
        Assert.Equal((1, enters), (ring.Submissions.PendingCount, ring.EnterCount));

        kernel.OnEnter = _ => null;
        Assert.Equal(SubmitOutcome.Completed, ring.Submit());
        Assert.Equal(Tag(5), ReapOne(ring).UserData);
    }

    [Theory]
    [InlineData(Errno.EINTR, SubmitOutcome.Interrupted, 1)]
    [InlineData(Errno.ETIME, SubmitOutcome.TimedOut, 1)]
    [InlineData(Errno.EAGAIN, SubmitOutcome.Busy, 2)]
    [InlineData(Errno.EBUSY, SubmitOutcome.Busy, 2)]
    public void SubmitAndWait_PassingError_IsAnOutcomeAndLosesNothing(Errno error, SubmitOutcome outcome, int enters)
    {
        FakeKernel kernel = new() { OnEnter = _ => FakeKernel.Failure(error) };
        using KernelRing ring = KernelRing.Create(kernel, Options(8, 16));
        ring.Submissions.PrepareNop(Tag(5));

        Assert.Equal(outcome, ring.SubmitAndWait(1, Patience));
        Assert.Equal(1, ring.Submissions.PendingCount);

        kernel.OnEnter = _ => null;
        Assert.Equal(Tag(5), ReapOne(ring).UserData);
        Assert.Equal((enters + 1, 1), (ring.EnterCount, ring.SubmittedCount));
    }

    [Fact]
    public void SubmitAndWait_KernelTakesNothing_GivesItAMomentWithoutSubmitting()
    {
        List<uint> submitted = [];
        FakeKernel kernel = new();
        using KernelRing ring = KernelRing.Create(kernel, Options(8, 16));
        kernel.OnEnter = toSubmit =>
        {
            submitted.Add(toSubmit);
            return toSubmit == 0 ? null : FakeKernel.Failure(Errno.EAGAIN);
        };
        ring.Submissions.PrepareNop(Tag(5));

        Assert.Equal(SubmitOutcome.Busy, ring.SubmitAndWait(1));

        Assert.Equal([1u, 0u], submitted);
    }

    [Theory]
    [InlineData(Errno.EBADR)]
    [InlineData(Errno.EEXIST)]
    [InlineData(Errno.EINVAL)]
    public void SubmitAndWait_FatalError_ThrowsIt(Errno error)
    {
        FakeKernel kernel = new() { OnEnter = _ => FakeKernel.Failure(error) };
        using KernelRing ring = KernelRing.Create(kernel, Options(8, 16));

        IoUringException failure = Assert.Throws<IoUringException>(() => ring.SubmitAndWait(1));

        Assert.Equal(error, failure.Error);
        Assert.Contains(error.ToString(), failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Timeout_Passes_CompletesWithEtime()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareTimeout(s_moment, Tag(1));

        Completion completion = ReapOne(ring);

        Assert.Equal((Tag(1), Errno.ETIME), (completion.UserData, completion.Error));
    }

    [Fact]
    public void Timeouts_InOneSubmission_KeepTheirOwnTimes()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareTimeout(TimeSpan.FromHours(1), Tag(1));
        ring.Submissions.PrepareTimeout(TimeSpan.Zero, Tag(2));

        Assert.Equal(Tag(2), ReapOne(ring).UserData);

        ring.Submissions.PrepareCancel(Tag(1), Tag(3));
        Assert.Equal([1, 3], Reap(ring, 2).Select(completion => completion.UserData.Slot).Order());
    }

    [Fact]
    public void Timeout_Negative_IsRefused()
    {
        using KernelRing ring = CreateRing();

        Assert.Throws<ArgumentOutOfRangeException>("after", () => ring.Submissions.PrepareTimeout(TimeSpan.FromTicks(-1), Tag(1)));
        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    [Fact]
    public void Cancel_PendingOperation_EndsIt()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareTimeout(TimeSpan.FromHours(1), Tag(1));
        SubmitQuietly(ring);
        ring.Submissions.PrepareCancel(Tag(1), Tag(2));

        List<Completion> completions = Reap(ring, 2);

        Assert.Equal(Errno.ECANCELED, completions.Single(completion => completion.UserData == Tag(1)).Error);
        Assert.Equal(0, completions.Single(completion => completion.UserData == Tag(2)).Result);
    }

    [Fact]
    public void Cancel_OtherGeneration_FindsNothing()
    {
        using KernelRing ring = CreateRing();
        UserData current = new(kind: 1, generation: 8, slot: 4);
        UserData stale = new(kind: 1, generation: 7, slot: 4);
        ring.Submissions.PrepareTimeout(TimeSpan.FromHours(1), current);
        ring.Submissions.PrepareCancel(stale, Tag(2));

        Completion completion = ReapOne(ring);
        Assert.Equal((Tag(2), Errno.ENOENT), (completion.UserData, completion.Error));

        ring.Submissions.PrepareCancel(current, Tag(3));
        Reap(ring, 2);
    }

    [Fact]
    public void Event_SignalledFromAnotherThread_WakesTheOwner()
    {
        using KernelRing ring = CreateRing();
        using EventDescriptor wake = EventDescriptor.Create();
        for (int round = 0; round < 100; round++)
        {
            ring.Submissions.PrepareReadEvent(wake, Tag(round));
            SubmitQuietly(ring);
            Thread producer = new(wake.Signal);
            producer.Start();

            Completion completion = ReapOne(ring);

            Assert.Equal((Tag(round), sizeof(ulong)), (completion.UserData, completion.Result));
            Assert.True(producer.Join(Patience));
        }
    }

    [Fact]
    public void Event_SignalledBeforeTheRead_CompletesItOnce()
    {
        using KernelRing ring = CreateRing();
        using EventDescriptor wake = EventDescriptor.Create();
        wake.Signal();
        wake.Signal();
        ring.Submissions.PrepareReadEvent(wake, Tag(1));
        Assert.Equal(Tag(1), ReapOne(ring).UserData);

        ring.Submissions.PrepareReadEvent(wake, Tag(2));
        SubmitQuietly(ring);

        wake.Signal();
        Assert.Equal(Tag(2), ReapOne(ring).UserData);
    }

    [Fact]
    public void Event_Disposed_IgnoresSignalsAndRefusesReads()
    {
        EventDescriptor wake = EventDescriptor.Create();
        wake.Dispose();

        wake.Signal();

        using KernelRing ring = CreateRing();
        Assert.Throws<ObjectDisposedException>(() => ring.Submissions.PrepareReadEvent(wake, Tag(1)));
        Assert.Equal(0, ring.Submissions.PendingCount);
    }

    [Fact]
    public void SubmitAndWait_CompletionsWereSetAside_CountThem()
    {
        FakeKernel kernel = new();
        using KernelRing ring = KernelRing.Create(kernel, Options(4, 8));
        ring.Submissions.PrepareNop(Tag(0));
        ring.SubmitAndWait(1, Patience);
        bool refuses = true;
        kernel.OnEnter = toSubmit =>
        {
            bool refused = refuses && toSubmit != 0;
            refuses &= !refused;
            return refused ? FakeKernel.Failure(Errno.EBUSY) : null;
        };

        // The fifth one finds the queue full and the kernel busy.
        for (int slot = 1; slot <= 5; slot++)
        {
            ring.Submissions.PrepareTimeout(TimeSpan.FromHours(1), Tag(slot));
        }

        ring.SubmitAndWait(0);

        Assert.Equal(1, ring.Completions.AsideCount);
        Assert.Equal(SubmitOutcome.Completed, ring.SubmitAndWait(1, s_moment));
        Assert.Equal(Tag(0), ReapOne(ring).UserData);
    }

    [Fact]
    public void SubmitAndWait_KernelHasDeferredWork_BringsItWithoutWaiting()
    {
        using KernelRing ring = CreateRing();
        using EventDescriptor wake = EventDescriptor.Create();
        ring.Submissions.PrepareReadEvent(wake, Tag(1));
        SubmitQuietly(ring);
        wake.Signal();

        // Nothing to submit and nothing to wait for: only the kernel's flag causes the enter.
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                ring.SubmitAndWait(0);
                return !ring.Completions.IsEmpty;
            },
            Patience));
    }

    [Fact]
    public void Turn_InSteadyState_AllocatesNothing()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        byte[] payload = PinnedPattern(length: 16, seed: 1);
        ReadOnlyMemory<byte>[] pieces = [payload.AsMemory(0, 8), payload.AsMemory(8)];
        Completion[] batch = new Completion[8];

        // The runtime itself allocates when it recompiles a method, once; an allocation of a turn shows in every
        // series.
        long least = long.MaxValue;
        for (int series = 0; series < 5; series++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int turn = 0; turn < 100; turn++)
            {
                Turn();
            }

            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.Equal(0, least);

        void Turn()
        {
            ring.Submissions.PrepareSend(pair.Descriptor, payload, Tag(1));
            ring.SubmitAndWait(1, Patience);
            ring.Completions.Drain(batch);
            ring.Submissions.PrepareSendGather(pair.Descriptor, pieces, Tag(2));
            ring.SubmitAndWait(1, Patience);
            ring.Completions.Drain(batch);
        }
    }

    [Fact]
    public void Rings_OnManyThreads_AreIndependent()
    {
        const int Threads = 4;
        int[] sums = new int[Threads];
        Thread[] owners = [.. Enumerable.Range(0, Threads).Select(owner => new Thread(() =>
        {
            using KernelRing ring = CreateRing(8, 16);
            for (int slot = 0; slot < 100; slot++)
            {
                ring.Submissions.PrepareNop(new UserData(kind: (byte)owner, generation: 0, slot));
            }

            sums[owner] = Reap(ring, 100).Sum(completion => completion.UserData.Kind);
        }))];

        Array.ForEach(owners, owner => owner.Start());

        Assert.All(owners, owner => Assert.True(owner.Join(Patience)));
        Assert.Equal([0, 100, 200, 300], sums);
    }
}
