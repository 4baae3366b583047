using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Tests.Faults;

/// <summary>An item that pauses again whenever its pause has ended, as one does whose every operation the kernel refuses.</summary>
internal sealed class PausingItem(EventLoop loop) : LoopItem
{
    internal override void OnRequests(int requests)
    {
        loop.Add(this);
        loop.Pause(this);
    }

    internal override void OnCompletion(in Completion completion) => throw new InvalidOperationException("It submits nothing.");

    internal override void OnPauseEnded()
    {
        if (!loop.IsStopping)
        {
            loop.Pause(this);
        }
    }

    internal override void OnLoopStopping() => loop.Remove(this);

    internal override void OnLoopFailed(Exception reason)
    {
    }
}
