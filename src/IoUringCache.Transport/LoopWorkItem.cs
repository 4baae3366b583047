namespace IoUringCache.Transport;

/// <summary>
/// A unit of application work that runs where a connection's application code runs. Derive from it and schedule it by
/// <see cref="IConnectionSchedulerFeature.Schedule"/>.
/// </summary>
/// <example><code>
/// internal sealed class Announcement(TaskCompletionSource made) : LoopWorkItem
/// {
///     public override void Execute() => made.SetResult();
/// }
/// </code></example>
/// <remarks>
/// Any thread may schedule it; one thread at a time executes it. The code that schedules it owns it, and may schedule
/// the same object again and again, so that a unit of work allocates nothing.
/// <para>
/// With <see cref="ApplicationScheduling.Adaptive"/> the transport watches each execution: an item that blocks keeps
/// its thread and not the loop, and its next sixteen executions run on other threads. With
/// <see cref="ApplicationScheduling.Inline"/> it must not block.
/// </para>
/// </remarks>
public abstract class LoopWorkItem : IThreadPoolWorkItem
{
    /// <summary>
    /// An item that blocked runs on a loop again after this many executions in a row that returned in time.
    /// </summary>
    private const int ExecutionsOnProbation = 16;

    private int _probation;

    /// <summary>
    /// Whether it blocked its thread lately. Any thread; a late answer costs a detour and nothing else.
    /// </summary>
    internal bool IsKnownToBlock => Volatile.Read(ref _probation) != 0;

    /// <summary>
    /// Does the work, once for each time that the item was scheduled. Must not throw: an exception ends the process, as
    /// one of a thread pool work item does.
    /// </summary>
    public abstract void Execute();

    /// <summary>The last execution blocked its thread.</summary>
    internal void MarkBlocking() => Volatile.Write(ref _probation, ExecutionsOnProbation);

    /// <summary>The last execution returned in time.</summary>
    internal void MarkNonBlocking() => Volatile.Write(ref _probation, Math.Max(0, Volatile.Read(ref _probation) - 1));
}
