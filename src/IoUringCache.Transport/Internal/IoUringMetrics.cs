using System.Diagnostics.Metrics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal;

/// <summary>
/// The meter <c>IoUringCache.Transport</c>: what the rings of the process do. Counters are read from the loops when somebody collects;
/// only the histogram costs anything on the way, and only while somebody listens. Any thread.
/// </summary>
internal static class IoUringMetrics
{
    private static readonly Meter s_meter = new("IoUringCache.Transport");
    private static readonly Lock s_lock = new();
    private static readonly List<EventLoop> s_loops = [];

    private static readonly Histogram<int> s_batchSize = s_meter.CreateHistogram<int>(
        "iouring.batch.size", "{completion}", "Completions taken in one turn of a loop.");

    // What loops that have ended had counted: a counter never goes back.
    private static long s_endedSubmissions;
    private static long s_endedCompletions;
    private static long s_endedEnters;

    static IoUringMetrics()
    {
        s_meter.CreateObservableCounter(
            "iouring.submissions",
            static () => Sum(s_endedSubmissions, static loop => loop.SubmittedCount),
            "{operation}",
            "Operations submitted to the rings.");
        s_meter.CreateObservableCounter(
            "iouring.completions",
            static () => Sum(s_endedCompletions, static loop => loop.CompletedCount),
            "{completion}",
            "Completions taken from the rings.");
        s_meter.CreateObservableCounter(
            "iouring.enters",
            static () => Sum(s_endedEnters, static loop => loop.EnterCount),
            "{call}",
            "Calls of io_uring_enter.");
    }

    internal static void Add(EventLoop loop)
    {
        lock (s_lock)
        {
            s_loops.Add(loop);
        }
    }

    internal static void Remove(EventLoop loop)
    {
        lock (s_lock)
        {
            s_loops.Remove(loop);
            s_endedSubmissions += loop.SubmittedCount;
            s_endedCompletions += loop.CompletedCount;
            s_endedEnters += loop.EnterCount;
        }
    }

    internal static void RecordBatch(int completionCount)
    {
        if (s_batchSize.Enabled)
        {
            s_batchSize.Record(completionCount);
        }
    }

    private static long Sum(long ended, Func<EventLoop, long> count)
    {
        lock (s_lock)
        {
            return ended + s_loops.Sum(count);
        }
    }
}
