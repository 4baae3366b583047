using System.Diagnostics.Metrics;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// The meter <c>IoUringCache.Transport</c>: what the loops of the process do. Counters are read when somebody collects, so no listener's code
/// runs where they are counted; only the histogram costs anything on the way, and only while somebody listens. Any thread.
/// </summary>
internal static class IoUringMetrics
{
    internal static readonly Meter Meter = new("IoUringCache.Transport");

    private static readonly Lock s_lock = new();
    private static readonly List<KernelRing> s_rings = [];
    private static readonly List<LoopBacklog> s_backlogs = [];

    private static readonly Histogram<int> s_batchSize = Meter.CreateHistogram<int>(
        "iouring.batch.size", "{completion}", "Completions that a loop found at once.");

    // What rings that are closed had counted: a counter never goes back.
    private static long s_endedSubmissions;
    private static long s_endedCompletions;
    private static long s_endedEnters;

    private static long s_takeOvers;
    private static long s_starvations;
    private static long s_acceptPauses;

    static IoUringMetrics()
    {
        Meter.CreateObservableCounter(
            "iouring.submissions",
            static () => Sum(s_endedSubmissions, static ring => ring.SubmittedCount),
            "{operation}",
            "Operations submitted to the rings.");
        Meter.CreateObservableCounter(
            "iouring.completions",
            static () => Sum(s_endedCompletions, static ring => ring.Completions.CompletedCount),
            "{completion}",
            "Completions taken from the rings.");
        Meter.CreateObservableCounter(
            "iouring.enters",
            static () => Sum(s_endedEnters, static ring => ring.EnterCount),
            "{call}",
            "Calls of io_uring_enter.");
        Meter.CreateObservableCounter(
            "iouring.takeovers",
            static () => Volatile.Read(ref s_takeOvers),
            "{takeover}",
            "Times that a loop went on without the thread that application code kept.");
        Meter.CreateObservableCounter(
            "iouring.receive.starvations",
            static () => Volatile.Read(ref s_starvations),
            "{receive}",
            "Receives that had to wait because all of a loop's buffers were in use.");
        Meter.CreateObservableCounter(
            "iouring.accept.pauses",
            static () => Volatile.Read(ref s_acceptPauses),
            "{pause}",
            "Times that a listener paused: connections were not taken, or all loops had their maximum of busy connections.");
        Meter.CreateObservableGauge(
            "iouring.backlog",
            static () => CountBusy(),
            "{connection}",
            "Connections with requests that are not completed, of loops that have a maximum for them.");
    }

    /// <summary>A loop begins.</summary>
    /// <param name="ring">Its ring.</param>
    /// <param name="backlog">Its backlog, where it has marks for that.</param>
    internal static void Add(KernelRing ring, LoopBacklog? backlog)
    {
        lock (s_lock)
        {
            s_rings.Add(ring);
            if (backlog is not null)
            {
                s_backlogs.Add(backlog);
            }
        }
    }

    internal static void Remove(KernelRing ring, LoopBacklog? backlog)
    {
        lock (s_lock)
        {
            s_rings.Remove(ring);
            if (backlog is not null)
            {
                s_backlogs.Remove(backlog);
            }

            s_endedSubmissions += ring.SubmittedCount;
            s_endedCompletions += ring.Completions.CompletedCount;
            s_endedEnters += ring.EnterCount;
        }
    }

    internal static void CountTakeOver() => Interlocked.Increment(ref s_takeOvers);

    internal static void CountStarvation() => Interlocked.Increment(ref s_starvations);

    internal static void CountAcceptPause() => Interlocked.Increment(ref s_acceptPauses);

    internal static void RecordBatch(int completionCount)
    {
        if (s_batchSize.Enabled)
        {
            s_batchSize.Record(completionCount);
        }
    }

    private static int CountBusy()
    {
        lock (s_lock)
        {
            return s_backlogs.Sum(static backlog => backlog.Count);
        }
    }

    private static long Sum(long ended, Func<KernelRing, long> count)
    {
        lock (s_lock)
        {
            return ended + s_rings.Sum(count);
        }
    }
}
