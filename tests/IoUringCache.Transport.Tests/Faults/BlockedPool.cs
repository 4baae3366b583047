using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>
/// A thread pool whose threads all wait until this is disposed, with more that will wait in front of whatever is queued from now on: the
/// classic outage. For a thread that is not of the pool.
/// </summary>
internal sealed class BlockedPool : IDisposable
{
    private readonly ManualResetEventSlim _gate = new();
    private int _blockedCount;
    private int _leftCount;

    internal BlockedPool()
    {
        ThreadPool.GetMinThreads(out int least, out _);
        for (int count = Math.Max(least, ThreadPool.ThreadCount) + 200; count > 0; count--)
        {
            ThreadPool.UnsafeQueueUserWorkItem(Block, this, preferLocal: false);
        }

        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref _blockedCount) >= least, Deadline.Limit), "The pool does not begin to block.");
    }

    /// <summary>Whether none has been let go.</summary>
    internal bool IsBlocked => Volatile.Read(ref _leftCount) == 0;

    public void Dispose() => _gate.Set();

    private static void Block(BlockedPool pool)
    {
        Interlocked.Increment(ref pool._blockedCount);
        pool._gate.Wait(3 * Deadline.Limit);
        Interlocked.Increment(ref pool._leftCount);
    }
}
