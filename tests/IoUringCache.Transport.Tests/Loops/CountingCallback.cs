using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that counts its runs, and whether all were on its loop.</summary>
internal sealed class CountingCallback(EventLoop loop, int expected) : LoopWorkItem
{
    private readonly TaskCompletionSource<bool> _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _count;
    private int _offLoop;

    /// <summary>Done after the expected number of runs: whether all were on the loop.</summary>
    internal Task<bool> Done => _done.Task;

    public override void Execute()
    {
        if (!loop.IsOwner)
        {
            Interlocked.Increment(ref _offLoop);
        }

        if (Interlocked.Increment(ref _count) == expected)
        {
            _done.SetResult(Volatile.Read(ref _offLoop) == 0);
        }
    }
}
