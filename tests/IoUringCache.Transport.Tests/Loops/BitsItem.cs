using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>An item that says when it has seen every request of a set.</summary>
internal sealed class BitsItem(int expected) : LoopItem
{
    private readonly TaskCompletionSource _allSeen = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _seen;

    internal Task AllSeen => _allSeen.Task;

    internal override void OnRequests(int requests)
    {
        _seen |= requests;
        if (_seen == expected)
        {
            _allSeen.TrySetResult();
        }
    }

    internal override void OnCompletion(in Completion completion) => throw new InvalidOperationException("It submits nothing.");

    internal override void OnLoopStopping()
    {
    }

    internal override void OnLoopFailed(Exception reason) => _allSeen.TrySetException(reason);
}
