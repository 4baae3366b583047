using System.Diagnostics;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>
/// Base of the tests that need io_uring; synchronous, because a ring belongs to one thread. Without io_uring they skip
/// with the reason, or fail with it if the environment variable IOURING_REQUIRED is 1.
/// </summary>
public abstract class RingTest
{
    /// <summary>Time-out of every wait; an emulated machine extends it by TEST_DEADLINE_SECONDS.</summary>
    protected static readonly TimeSpan Patience =
        TimeSpan.FromSeconds(int.Parse(Environment.GetEnvironmentVariable("TEST_DEADLINE_SECONDS") ?? "10"));

    protected RingTest()
    {
        if (IoUring.UnavailableReason is { } reason)
        {
            if (Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1")
            {
                Assert.Fail(reason);
            }

            Assert.Skip(reason);
        }
    }

    protected static KernelRing CreateRing(int submissionEntries = 64, int completionEntries = 256) =>
        KernelRing.Create(Options(submissionEntries, completionEntries));

    protected static RingOptions Options(int submissionEntries, int completionEntries) =>
        new() { SubmissionEntries = submissionEntries, CompletionEntries = completionEntries };

    /// <summary>Skips the test if the kernel cannot inject results.</summary>
    protected static void RequireInjectedResults()
    {
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareNopWithResult(1, Tag(0));
        Assert.SkipWhen(ReapOne(ring).Error == Errno.EINVAL, "This kernel has no IORING_NOP_INJECT_RESULT.");
    }

    protected static UserData Tag(int slot) => new(kind: 1, generation: 0, slot);

    /// <summary>
    /// Submits and drains until <paramref name="count"/> completions arrived; fails after the time-out.
    /// </summary>
    protected static List<Completion> Reap(KernelRing ring, int count)
    {
        List<Completion> reaped = [];
        Completion[] batch = new Completion[64];
        Stopwatch elapsed = Stopwatch.StartNew();
        while (reaped.Count < count)
        {
            Assert.True(elapsed.Elapsed < Patience, $"Only {reaped.Count} of {count} completions came.");
            ring.SubmitAndWait(minimumCompletions: 1, Patience);
            int drained;
            while ((drained = ring.Completions.Drain(batch)) > 0)
            {
                reaped.AddRange(batch.AsSpan(0, drained));
            }
        }

        return reaped;
    }

    /// <summary>As <see cref="Reap"/>, and fails if more than one completion arrives.</summary>
    protected static Completion ReapOne(KernelRing ring) => Assert.Single(Reap(ring, 1));

    /// <summary>Submits the prepared operations and asserts that none completes.</summary>
    protected static void SubmitQuietly(KernelRing ring)
    {
        ring.SubmitAndWait(0);
        Assert.True(ring.Completions.IsEmpty);
    }

    protected static byte[] PinnedPattern(int length, int seed)
    {
        byte[] pattern = GC.AllocateUninitializedArray<byte>(length, pinned: true);
        new Random(seed).NextBytes(pattern);
        return pattern;
    }
}
