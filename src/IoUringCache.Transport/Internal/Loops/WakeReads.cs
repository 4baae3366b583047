using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// The reads of event descriptors that wake a loop: one for each thread that has had it, so that no wake-up depends on
/// a blocked thread. A signal ends a read. Loop thread only; owned by the loop.
/// </summary>
internal sealed class WakeReads(WaitingItems waiting)
{
    /// <summary>By thread index; null where no read is in the kernel.</summary>
    private readonly LoopThread?[] _armed = new LoopThread?[LoopThread.MaxPerLoop];

    private bool _isRefused;

    internal bool IsAnyArmed => Array.Exists(_armed, static thread => thread is not null);

    /// <summary>Prepares the owner's read, unless it is in the kernel, or was refused and no pause has ended.</summary>
    internal void Arm(SubmissionQueue submissions, LoopThread owner)
    {
        if (_armed[owner.Index] is null && !_isRefused)
        {
            submissions.PrepareReadEvent(owner.Event, new UserData((byte)OperationKind.Wake, 0, owner.Index));
            _armed[owner.Index] = owner;
        }
    }

    /// <summary>Handles the end of a read. Until the next one, the loop checks by itself after the pause.</summary>
    internal void OnCompletion(in Completion completion)
    {
        _armed[completion.UserData.Slot] = null;
        if (completion.IsError)
        {
            _isRefused = true;
            waiting.BeginPause();
        }
    }

    /// <summary>A pause has ended: a read that was refused may be prepared again.</summary>
    internal void OnPauseEnded() => _isRefused = false;

    /// <summary>Ends all reads.</summary>
    internal void SignalAll()
    {
        foreach (LoopThread? thread in _armed)
        {
            thread?.Event.Signal();
        }
    }
}
