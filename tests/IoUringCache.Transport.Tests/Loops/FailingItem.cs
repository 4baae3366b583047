using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>An item that breaks its loop at its first request, as a ring does that lost a completion.</summary>
internal sealed class FailingItem : LoopItem
{
    private readonly TaskCompletionSource _failed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Done when the loop has told its items.</summary>
    internal Task Failed => _failed.Task;

    internal override void OnRequests(int requests) => SocketDescriptor.Close(-1);

    internal override void OnCompletion(in Completion completion) => throw new InvalidOperationException("It submits nothing.");

    internal override void OnLoopStopping()
    {
    }

    internal override void OnLoopFailed(Exception reason) => _failed.TrySetResult();
}
