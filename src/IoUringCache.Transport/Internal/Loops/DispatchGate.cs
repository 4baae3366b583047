namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Decides who has the loop after a call into application code: the thread that made the call, or the one that took the loop over
/// meanwhile. Each call has a number of its own, so that of the two exchanges that end it exactly one succeeds.
/// <code>
///              the owner calls application code                 the call has returned
///   Loop (0) ----------------------------------> Call (n) -----------------------------> Loop (0), the same owner
///      ^                                            | it takes too long
///      |            the new owner goes on           v
///      +-------------------------------------- TakeOver (-1)
/// </code>
/// The owner enters and leaves; the watchdog looks and takes over. Owned by the loop.
/// </summary>
internal sealed class DispatchGate
{
    private const long Loop = 0;
    private const long TakeOver = -1;

    private long _state;
    private long _count;
    private LoopWorkItem? _current;

    /// <summary>
    /// Whether application code has the loop's thread, or had when it was taken over. A thread that is in such code never sees false
    /// before the loop has another owner.
    /// </summary>
    internal bool IsInApplication => Volatile.Read(ref _state) != Loop;

    /// <summary>The number of the call that runs; 0 or less if none does. Any thread.</summary>
    internal long CurrentCall => Volatile.Read(ref _state);

    /// <summary>Before the call. Owner.</summary>
    /// <returns>The call's number.</returns>
    internal long Enter(LoopWorkItem dispatch)
    {
        _current = dispatch;
        long call = ++_count;
        Volatile.Write(ref _state, call);
        return call;
    }

    /// <summary>After the call; false if the loop has another owner now, and then nothing of it may be touched any more.</summary>
    internal bool TryLeave(long call) => Interlocked.CompareExchange(ref _state, Loop, call) == call;

    /// <summary>Takes the loop from the call, if that has not returned meanwhile; then <see cref="EndTakeOver"/>. Watchdog.</summary>
    internal bool TryBeginTakeOver(long call)
    {
        if (call <= Loop || Interlocked.CompareExchange(ref _state, TakeOver, call) != call)
        {
            return false;
        }

        _current!.MarkBlocking();
        return true;
    }

    /// <summary>The loop has its new owner, everywhere where its owner is written down.</summary>
    internal void EndTakeOver() => Volatile.Write(ref _state, Loop);
}
