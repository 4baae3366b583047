using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>An item that says when its requests were handled.</summary>
internal sealed class CountingItem : LoopItem
{
    private TaskCompletionSource _next = new();

    internal int HandledCount { get; private set; }

    internal Task Next()
    {
        _next = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return _next.Task;
    }

    internal override void OnRequests(int requests)
    {
        HandledCount++;
        _next.SetResult();
    }

    internal override void OnCompletion(in Completion completion) => throw new InvalidOperationException("It submits nothing.");

    internal override void OnLoopStopping()
    {
    }

    internal override void OnLoopFailed(Exception reason) => _next.TrySetException(reason);
}
