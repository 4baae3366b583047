namespace IoUringCache.Ring;

/// <summary>
/// How <see cref="KernelRing.SubmitAndWait"/> ended; the caller drains completions after each outcome.
/// </summary>
/// <example><code>
/// SubmitOutcome outcome = ring.SubmitAndWait(minimumCompletions: 1, TimeSpan.FromMilliseconds(1));
/// bool isIdle = outcome == SubmitOutcome.TimedOut;
/// </code></example>
public enum SubmitOutcome
{
    /// <summary>
    /// The kernel consumed entries, or the completions arrived, or there was nothing to do. After it has consumed
    /// entries the kernel reports neither time-out nor signal, so there may be fewer completions than requested.
    /// </summary>
    Completed,

    /// <summary>Nothing was submitted and the time-out passed first (ETIME).</summary>
    TimedOut,

    /// <summary>Nothing was submitted and a signal ended the wait (EINTR).</summary>
    Interrupted,

    /// <summary>
    /// The kernel consumed no entries (EAGAIN: no memory; EBUSY: too many completions wait), and they stay in the
    /// queue. The call has waited up to 1 ms for a completion; drain and submit again.
    /// </summary>
    Busy,
}
