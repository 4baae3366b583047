using IoUringCache.Ring.Tests.Support;

namespace IoUringCache.Ring.Tests;

/// <summary>A ring that changes owners, and the operations that the previous owner submitted.</summary>
public sealed class OwnershipTests : RingTest
{
    private static readonly RingOptions s_options = new() { SubmissionEntries = 8, CompletionEntries = 16, MayChangeOwner = true };

    [Fact]
    public void Ring_ThatMayChangeOwner_IsNotBoundToAThread()
    {
        using KernelRing ring = KernelRing.Create(s_options);
        Assert.DoesNotContain("single issuer", ring.Description, StringComparison.Ordinal);
    }

    [Fact]
    public void BindToCurrentThread_OfARingBoundToItsThread_IsRefused()
    {
        using KernelRing ring = CreateRing();
        ring.BindToCurrentThread();
        RunOnThread(() => Assert.Throws<InvalidOperationException>(ring.BindToCurrentThread));
    }

    [Fact]
    public void BindToCurrentThread_BackAndForth_BothThreadsSubmitAndReap()
    {
        using KernelRing ring = KernelRing.Create(s_options);
        for (int round = 0; round < 100; round++)
        {
            Use();
            RunOnThread(Use);
        }

        void Use()
        {
            ring.BindToCurrentThread();
            ring.Submissions.PrepareNop(Tag(1));
            Assert.Equal(Tag(1), ReapOne(ring).UserData);
        }
    }

    [Fact]
    public void Operation_OfAThreadThatSleeps_CompletesForTheNewOwner()
    {
        using ManualResetEventSlim submitted = new();
        using ManualResetEventSlim reaped = new();
        using EventDescriptor signal = EventDescriptor.Create();
        using KernelRing ring = KernelRing.Create(s_options);
        Thread first = Start(() =>
        {
            ring.BindToCurrentThread();
            ring.Submissions.PrepareReadEvent(signal, Tag(2));
            SubmitQuietly(ring);
            submitted.Set();
            Assert.True(reaped.Wait(Patience, TestContext.Current.CancellationToken));
        });
        Assert.True(submitted.Wait(Patience, TestContext.Current.CancellationToken));
        ring.BindToCurrentThread();
        signal.Signal();
        Assert.Equal((Tag(2), sizeof(ulong)), Of(ReapOne(ring)));
        reaped.Set();
        Assert.True(first.Join(Patience));
    }

    [Fact]
    public void Operation_OfAThreadThatHasEnded_IsCancelledWhenItComesDue()
    {
        using EventDescriptor signal = EventDescriptor.Create();
        using KernelRing ring = KernelRing.Create(s_options);
        string task = "";
        RunOnThread(() =>
        {
            task = $"/proc/{new FileInfo("/proc/thread-self").LinkTarget}";
            ring.BindToCurrentThread();
            ring.Submissions.PrepareReadEvent(signal, Tag(3));
            SubmitQuietly(ring);
        });

        // After a join the kernel's thread may still run for a moment.
        Assert.True(SpinWait.SpinUntil(() => !Directory.Exists(task), Patience));
        ring.BindToCurrentThread();
        SubmitQuietly(ring);
        signal.Signal();
        Assert.Equal((Tag(3), -(int)Errno.ECANCELED), Of(ReapOne(ring)));
    }

    private static (UserData Name, int Result) Of(Completion completion) => (completion.UserData, completion.Result);

    private static void RunOnThread(Action action) => Assert.True(Start(action).Join(Patience));

    private static Thread Start(Action action)
    {
        Thread thread = new(() => action()) { IsBackground = true };
        thread.Start();
        return thread;
    }
}
