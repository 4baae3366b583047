using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that runs again and again, and blocks when the test wants it to.</summary>
internal sealed class RepeatedCall : LoopWorkItem
{
    private readonly ManualResetEventSlim _release = new(initialState: true);
    private TaskCompletionSource<int> _entered = New();

    /// <summary>Done when it runs: its thread.</summary>
    internal Task<int> Entered => _entered.Task;

    public override void Execute()
    {
        _entered.SetResult(Environment.CurrentManagedThreadId);
        _release.Wait(Deadline.Limit);
    }

    internal void BlockNext() => _release.Reset();

    internal void Release() => _release.Set();

    /// <summary>Runs it once more; the thread that it ran on.</summary>
    internal Task<int> RunAsync(EventLoop loop)
    {
        _entered = New();
        loop.Schedule(this);
        return _entered.Task.InTime();
    }

    private static TaskCompletionSource<int> New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
