using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Runs application code on the loop's thread: a handler that blocks stops the loop. Owned by its loop.
/// </summary>
internal sealed class InlineDispatcher(EventLoop loop) : Dispatcher(loop)
{
    internal override bool RunsApplicationCode => true;

    internal override bool RunReady()
    {
        long waitingSince = 0;
        for (int left = Ready.Count; left > 0; left--)
        {
            Execute(Ready.Dequeue());
            Loop.SubmitEarly(ref waitingSince);
        }

        return true;
    }
}
