namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Decides which thread has the loop after a call into application code: the thread that made the call, or the one that
/// got the loop meanwhile. Each call has its own number, so of the two exchanges that end it exactly one succeeds.
/// Owned by the loop's dispatcher.
/// <code>
///              the owner calls application code                 the call has returned
///   Loop (0) ----------------------------------> Call (n) -----------------------------> Loop (0), the same owner
///      ^                                            | it takes too long
///      |            the new owner goes on           v
///      +------------------------------------- Reassigning (-1)
/// </code>
/// </summary>
internal sealed class DispatchGate
{
    private const long Loop = 0;
    private const long Reassigning = -1;

    private long _state;
    private long _count;
    private LoopWorkItem? _current;

    /// <summary>
    /// Whether application code has the loop's thread, or had when the loop was reassigned. A thread in such code does
    /// not see false before the loop has another owner. Any thread.
    /// </summary>
    internal bool IsInApplication => Volatile.Read(ref _state) != Loop;

    /// <summary>The number of the call that runs; 0 or less if none does. Any thread.</summary>
    internal long CurrentCall => Volatile.Read(ref _state);

    /// <summary>Begins a call. Owner.</summary>
    /// <returns>The call's number.</returns>
    internal long Enter(LoopWorkItem item)
    {
        _current = item;
        long call = ++_count;
        Volatile.Write(ref _state, call);
        return call;
    }

    /// <summary>Ends a call; false if the loop has another owner now and this thread must not touch it.</summary>
    internal bool TryLeave(long call) => Interlocked.CompareExchange(ref _state, Loop, call) == call;

    /// <summary>
    /// Takes the loop from a call that has not returned. The watchdog then sets the owner and ends this.
    /// </summary>
    internal bool TryBeginReassign(long call)
    {
        if (call <= Loop || Interlocked.CompareExchange(ref _state, Reassigning, call) != call)
        {
            return false;
        }

        _current!.MarkBlocking();
        return true;
    }

    /// <summary>The loop has its new owner. Watchdog.</summary>
    internal void EndReassign() => Volatile.Write(ref _state, Loop);
}
