using System.Globalization;

namespace IoUringCache.RandomRead;

/// <summary>What has been used so far. Immutable.</summary>
/// <param name="Cpu">User and system time of the process, with the kernel's worker threads for its rings.</param>
/// <param name="Faults">Page faults, with and without a read.</param>
/// <param name="Switches">Context switches of the calling thread, of its own will or not.</param>
internal readonly record struct Usage(TimeSpan Cpu, long Faults, long Switches)
{
    public static Usage Now()
    {
        // proc_pid_stat(5): the fields after the name in parentheses; minflt is the 10th field of all and majflt the 12th.
        string[] fields = File.ReadAllText("/proc/self/stat").Split(')')[^1].Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return new(
            Environment.CpuUsage.TotalTime,
            Number(fields[7]) + Number(fields[9]),
            File.ReadLines("/proc/thread-self/status").Where(line => line.Contains("ctxt_switches", StringComparison.Ordinal))
                .Sum(line => Number(line.Split(':')[1].Trim())));
    }

    public static Usage operator -(Usage end, Usage start) => new(end.Cpu - start.Cpu, end.Faults - start.Faults, end.Switches - start.Switches);

    private static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);
}
