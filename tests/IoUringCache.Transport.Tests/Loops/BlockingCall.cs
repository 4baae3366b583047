using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that keeps its thread until the test lets it go.</summary>
internal sealed class BlockingCall : LoopWorkItem, IDisposable
{
    private readonly TaskCompletionSource<int> _entered = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _left = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ManualResetEventSlim _release = new();

    /// <summary>Done when it has its thread: that thread's id.</summary>
    internal Task<int> Entered => _entered.Task;

    /// <summary>Done when it has given its thread back.</summary>
    internal Task Left => _left.Task;

    public override void Execute()
    {
        _entered.SetResult(Environment.CurrentManagedThreadId);
        _release.Wait(Deadline.Limit);
        _left.SetResult();
    }

    internal void Release() => _release.Set();

    /// <summary>Lets it go. Its thread may be about to wait for the event still, so that stays usable.</summary>
    public void Dispose() => Release();
}
