using System.Diagnostics;
using System.Globalization;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Engine;

/// <summary>
/// What the meter shows of the process, under the names that exporters of Prometheus have for all processes. Linux has all of it in
/// <c>/proc/self</c> (proc(5)); elsewhere descriptors are not shown. Called once, as the cache is made.
/// </summary>
internal static class ProcessGauges
{
    private const string Descriptors = "/proc/self/fd";
    private const string Limits = "/proc/self/limits";
    private const string LimitOfDescriptors = "Max open files";

    public static void Add(CacheMetrics metrics)
    {
        using Process process = Process.GetCurrentProcess();
        DateTime start = process.StartTime.ToUniversalTime();
        metrics.Count("process.allocated", "By", "Managed memory allocated by the process.", static () => GC.GetTotalAllocatedBytes());
        metrics.Count("process.cpu", "s", "Processor time of the process, in user and system mode.", static () => Environment.CpuUsage.TotalTime.TotalSeconds);
        metrics.Gauge("process.resident_memory", "By", "Resident memory of the process.", static () => Environment.WorkingSet);
        metrics.Gauge("process.start_time", "s", "When the process started, since 1970.", () => (start - DateTime.UnixEpoch).TotalSeconds);
        if (Directory.Exists(Descriptors) && ReadLimit() is { } limit)
        {
            metrics.Gauge("process.open_fds", "{descriptor}", "Open descriptors of the process.", () => CountDescriptors(limit));
            metrics.Gauge("process.max_fds", "{descriptor}", "Descriptors that it may have open.", () => limit);
        }
    }

    /// <param name="limit">The number if there is not even one left to look with.</param>
    private static long CountDescriptors(long limit)
    {
        try
        {
            return Directory.EnumerateFileSystemEntries(Descriptors).LongCount();
        }
        catch (IOException)
        {
            return limit;
        }
    }

    /// <summary>The line of a limit has its name, the soft limit, the hard limit and the unit.</summary>
    private static long? ReadLimit() =>
        File.ReadLines(Limits).FirstOrDefault(static line => line.StartsWith(LimitOfDescriptors, StringComparison.Ordinal)) is { } line
        && long.TryParse(
            line[LimitOfDescriptors.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries)[0], NumberStyles.None, CultureInfo.InvariantCulture, out long limit)
            ? limit
            : null;
}
