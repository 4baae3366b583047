using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// The only caller of <c>io_uring_enter</c>: arguments, counters and the table of its errors. Owner thread, unless
/// noted; owned by the ring.
/// </summary>
internal sealed unsafe class EnterCall(IKernel kernel, int ring)
{
    // The pause after the kernel consumed nothing; a completion ends it.
    private static readonly TimeSpan s_pauseWhileBusy = TimeSpan.FromMilliseconds(1);

    private long _enterCount;
    private long _submittedCount;

    /// <summary>System calls so far. Any thread.</summary>
    internal long EnterCount => Volatile.Read(ref _enterCount);

    /// <summary>Entries that the kernel has consumed so far. Any thread.</summary>
    internal long SubmittedCount => Volatile.Read(ref _submittedCount);

    /// <summary>Submits and waits. Pauses if the kernel consumes nothing, so that callers may retry at once.</summary>
    /// <param name="toSubmit">Entries between the kernel's head and the published tail.</param>
    /// <param name="minimumCompletions">Completions to wait for; 0 does not wait.</param>
    /// <param name="timeout">Maximum wait, or null for no limit.</param>
    /// <exception cref="IoUringException">An error after which the ring is unusable.</exception>
    internal SubmitOutcome Invoke(uint toSubmit, uint minimumCompletions, TimeSpan? timeout) =>
        PauseIfBusy(Call(toSubmit, minimumCompletions, timeout));

    /// <summary>Submits without running deferred work. Pauses as <see cref="Invoke"/> does.</summary>
    /// <param name="toSubmit">Entries between the kernel's head and the published tail, 1 or more.</param>
    /// <exception cref="IoUringException">An error after which the ring is unusable.</exception>
    internal SubmitOutcome Submit(uint toSubmit) => PauseIfBusy(OutcomeOf(kernel.Enter(ring, toSubmit, 0, EnterFlags.None, 0, 0)));

    private SubmitOutcome PauseIfBusy(SubmitOutcome outcome)
    {
        if (outcome == SubmitOutcome.Busy)
        {
            Call(toSubmit: 0, minimumCompletions: 1, s_pauseWhileBusy);
        }

        return outcome;
    }

    /// <summary>One system call, always with GETEVENTS: deferred work runs in no other call.</summary>
    private SubmitOutcome Call(uint toSubmit, uint minimumCompletions, TimeSpan? timeout)
    {
        int result;
        if (timeout is { } limit)
        {
            KernelTimespec time = KernelTimespec.From(limit > TimeSpan.Zero ? limit : TimeSpan.Zero);

            // SAFETY: both structures are in this frame and the kernel reads them only during the call.
            GetEventsArgument argument = default;
            argument.Timeout = (ulong)&time;
            result = kernel.Enter(
                ring,
                toSubmit,
                minimumCompletions,
                EnterFlags.GetEvents | EnterFlags.ExtendedArgument,
                (nint)(&argument),
                (nuint)sizeof(GetEventsArgument));
        }
        else
        {
            result = kernel.Enter(ring, toSubmit, minimumCompletions, EnterFlags.GetEvents, 0, 0);
        }

        return OutcomeOf(result);
    }

    private SubmitOutcome OutcomeOf(int result)
    {
        Volatile.Write(ref _enterCount, _enterCount + 1);
        if (result >= 0)
        {
            Volatile.Write(ref _submittedCount, _submittedCount + result);
            return SubmitOutcome.Completed;
        }

        // A negative result means that no entry was consumed.
        return (Errno)(-result) switch
        {
            Errno.ETIME => SubmitOutcome.TimedOut,
            Errno.EINTR => SubmitOutcome.Interrupted,
            Errno.EAGAIN or Errno.EBUSY => SubmitOutcome.Busy,
            // EBADR: a completion, and with it an operation, is lost. EEXIST: not the owner's thread. Others are bugs.
            Errno error => throw new IoUringException("io_uring_enter", error),
        };
    }
}
