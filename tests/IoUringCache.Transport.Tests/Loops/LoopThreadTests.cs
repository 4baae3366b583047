using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Whether a thread waits or works, as others see it.</summary>
public sealed class LoopThreadTests
{
    [Fact]
    public async Task Thread_ThatWaitsAndThenWorks_IsAsleepWhileItWaits()
    {
        IoUringRequirement.Check();
        using ManualResetEventSlim release = new();
        bool spins = true;
        Assert.True(LoopThread.TryStart(0, "test", _ => Work(), out LoopThread? thread));
        await Deadline.UntilAsync(() => thread.IsAsleep, () => "It waits, and does not look like it.");

        release.Set();
        await Deadline.UntilAsync(() => !thread.IsAsleep, () => "It works, and does not look like it.");
        for (int look = 0; look < 20; look++)
        {
            Assert.False(thread.IsAsleep);
        }

        Volatile.Write(ref spins, false);
        thread.Dispose();

        void Work()
        {
            // At once in the kernel, where ManualResetEventSlim would spin first.
            release.WaitHandle.WaitOne(Deadline.Limit);
            while (Volatile.Read(ref spins))
            {
            }
        }
    }
}
