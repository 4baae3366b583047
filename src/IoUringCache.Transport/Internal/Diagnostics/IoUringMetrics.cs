using System.Diagnostics.Metrics;
using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// The meter <c>IoUringCache.Transport</c>. Counters have the loop's id as an attribute and are read when a listener
/// collects, so no listener's code runs on a loop; only the histogram calls one, while it is enabled. Any thread.
/// </summary>
internal static class IoUringMetrics
{
    internal static Meter Meter { get; } = new("IoUringCache.Transport");

    private static readonly Lock s_lock = new();

    /// <summary>By id. One stays when its loop has ended.</summary>
    private static readonly List<LoopMetrics> s_loops = [];

    private static readonly Histogram<int> s_batchSize = Meter.CreateHistogram<int>(
        "iouring.batch.size", "{completion}", "Completions that a loop found at once.");

    private static long s_acceptPauses;

    static IoUringMetrics()
    {
        CountByLoop("iouring.submissions", "{operation}", "Operations submitted to the ring.", static loop => loop.Submissions);
        CountByLoop("iouring.completions", "{completion}", "Completions taken from the ring.", static loop => loop.Completions);
        CountByLoop("iouring.enters", "{call}", "Calls of io_uring_enter.", static loop => loop.Enters);
        CountByLoop(
            "iouring.reassignments",
            "{reassignment}",
            "Times that the loop went on with another thread because application code blocked its own.",
            static loop => loop.Reassignments);
        CountByLoop(
            "iouring.receive.starvations",
            "{receive}",
            "Receives that had to wait because all of the loop's buffers were in use.",
            static loop => loop.Starvations);
        Meter.CreateObservableCounter(
            "iouring.accept.pauses",
            static () => Volatile.Read(ref s_acceptPauses),
            "{pause}",
            "Times that a listener paused: connections were not taken, or all loops had their maximum of busy connections.");
        Meter.CreateObservableGauge(
            "iouring.backlog",
            static () => Observe<int>(static loop => loop.BusyConnections),
            "{connection}",
            "Connections with requests that are not completed, of loops that have a maximum for them.");

        static void CountByLoop(string name, string unit, string description, Func<LoopMetrics, long?> value) =>
            Meter.CreateObservableCounter(name, () => Observe(value), unit, description);
    }

    /// <summary>A loop begins.</summary>
    /// <param name="ring">Its ring.</param>
    /// <param name="countBusy">Counts its busy connections, on any thread; null without a maximum for them.</param>
    internal static LoopMetrics Add(KernelRing ring, Func<int>? countBusy)
    {
        lock (s_lock)
        {
            LoopMetrics? free = s_loops.Find(static loop => !loop.IsRunning);
            if (free is null)
            {
                free = new LoopMetrics(s_loops.Count);
                s_loops.Add(free);
            }

            free.Begin(ring, countBusy);
            return free;
        }
    }

    /// <summary>A loop ends, before its ring does.</summary>
    internal static void Remove(LoopMetrics loop)
    {
        lock (s_lock)
        {
            loop.End();
        }
    }

    internal static void CountAcceptPause() => Interlocked.Increment(ref s_acceptPauses);

    internal static void RecordBatch(LoopMetrics loop, int completionCount)
    {
        if (s_batchSize.Enabled)
        {
            s_batchSize.Record(completionCount, loop.Attribute);
        }
    }

    private static Measurement<T>[] Observe<T>(Func<LoopMetrics, T?> value)
        where T : struct
    {
        lock (s_lock)
        {
            return [.. s_loops.Select(loop => (loop, Value: value(loop))).Where(static entry => entry.Value is not null)
                .Select(static entry => new Measurement<T>(entry.Value!.Value, entry.loop.Attribute))];
        }
    }
}
