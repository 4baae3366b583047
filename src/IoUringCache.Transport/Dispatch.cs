namespace IoUringCache.Transport;

/// <summary>
/// A call into application code that is to run where the code of a connection runs: derive from it, and have it run by a
/// <see cref="ConnectionScheduler"/>. Scheduled by any thread, run by one at a time; owned by whoever schedules it, and made to be used
/// again and again, so that a call costs no memory.
/// </summary>
/// <example><code>
/// internal sealed class Announcement(TaskCompletionSource made) : Dispatch
/// {
///     public override void Execute() => made.SetResult();
/// }
/// </code></example>
/// <remarks>
/// With <see cref="ApplicationScheduling.Adaptive"/> each call is watched: one that blocks keeps its thread and not the loop, and runs on
/// other threads for its next sixteen calls. With <see cref="ApplicationScheduling.Inline"/> it must not block.
/// </remarks>
public abstract class Dispatch : IThreadPoolWorkItem
{
    /// <summary>So many calls in a row must return in time before one that blocked is run on a loop again.</summary>
    private const int CallsOnProbation = 16;

    private int _probation;

    /// <summary>Whether it blocked its thread not long ago. Any thread; a late answer costs a detour and nothing else.</summary>
    internal bool IsSuspect => Volatile.Read(ref _probation) != 0;

    /// <summary>
    /// The call, once for each time that it was scheduled. Must not throw: there is nobody to tell, so it ends the process, as a work item
    /// of the thread pool does.
    /// </summary>
    public abstract void Execute();

    /// <summary>The call blocked its thread.</summary>
    internal void Suspect() => Volatile.Write(ref _probation, CallsOnProbation);

    /// <summary>The call returned in time.</summary>
    internal void Behaved() => Volatile.Write(ref _probation, Math.Max(0, Volatile.Read(ref _probation) - 1));
}
