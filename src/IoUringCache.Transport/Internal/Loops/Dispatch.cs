namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// One call into application code that an event loop owes. Scheduled by any thread, executed by one at a time; owned by whoever
/// schedules it.
/// </summary>
internal abstract class Dispatch : IThreadPoolWorkItem
{
    /// <summary>So many calls in a row must return in time before one that blocked is run on a loop again.</summary>
    private const int CallsOnProbation = 16;

    private int _probation;

    /// <summary>Whether it blocked its thread not long ago. Any thread; a late answer costs a detour and nothing else.</summary>
    internal bool IsSuspect => Volatile.Read(ref _probation) != 0;

    /// <summary>Runs the application's continuation.</summary>
    public abstract void Execute();

    /// <summary>The call blocked its thread.</summary>
    internal void Suspect() => Volatile.Write(ref _probation, CallsOnProbation);

    /// <summary>The call returned in time.</summary>
    internal void Behaved() => Volatile.Write(ref _probation, Math.Max(0, Volatile.Read(ref _probation) - 1));
}
