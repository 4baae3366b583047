using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>Application code that says on which thread it ran.</summary>
internal sealed class ThreadRecorder : Dispatch
{
    private readonly TaskCompletionSource<int> _ran = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal Task<int> Ran => _ran.Task;

    public override void Execute() => _ran.SetResult(Environment.CurrentManagedThreadId);
}
