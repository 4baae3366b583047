using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Loops;

/// <summary>An item that holds its slot until the second request, as a connection does while another thread sends for it.</summary>
/// <param name="loop">Its loop.</param>
/// <param name="leavesAtStop">Whether it makes that request itself, when the loop stops.</param>
internal sealed class HeldItem(EventLoop loop, bool leavesAtStop = false) : LoopItem
{
    private readonly TaskCompletionSource _added = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _stopping = new(TaskCreationOptions.RunContinuationsAsynchronously);

    internal Task Added => _added.Task;

    internal Task Stopping => _stopping.Task;

    internal override void OnRequests(int requests)
    {
        if (Slot < 0)
        {
            loop.Add(this);
            _added.SetResult();
        }
        else
        {
            loop.Remove(this);
        }
    }

    internal override void OnCompletion(in Completion completion) => throw new InvalidOperationException("It submits nothing.");

    internal override void OnLoopStopping()
    {
        _stopping.SetResult();
        if (leavesAtStop)
        {
            loop.Request(this, 1);
        }
    }

    internal override void OnLoopFailed(Exception reason) => _stopping.TrySetException(reason);
}
