namespace IoUringCache.Ring;

/// <summary>How <see cref="KernelRing.SubmitAndWait"/> came back. After each of them: reap the completions, then go on.</summary>
/// <example><code>
/// SubmitOutcome outcome = ring.SubmitAndWait(minimumCompletions: 1, TimeSpan.FromMilliseconds(1));
/// bool isIdle = outcome == SubmitOutcome.TimedOut;
/// </code></example>
public enum SubmitOutcome
{
    /// <summary>
    /// The kernel took entries, or the wait was met, or there was nothing to do. Once entries were taken the kernel reports neither
    /// time-out nor signal, so fewer completions than asked for may be there.
    /// </summary>
    Completed,

    /// <summary>Nothing was submitted and the time-out passed first (ETIME).</summary>
    TimedOut,

    /// <summary>Nothing was submitted and a signal ended the wait (EINTR).</summary>
    Interrupted,

    /// <summary>
    /// The kernel takes no entries at the moment (EAGAIN: no memory; EBUSY: too many completions wait); they stay queued. The call has
    /// waited for a completion, for a millisecond at most. Reap and try again.
    /// </summary>
    Busy,
}
