using System.Globalization;
using System.Text.RegularExpressions;

namespace IoUringCache.FanOut;

/// <summary>What the cache has used up: processor time of its processes, and managed memory where it tells that. Immutable.</summary>
internal sealed partial record ServiceUsage(TimeSpan ProcessorTime, double? AllocatedBytes)
{
    /// <summary>Up to now.</summary>
    /// <exception cref="FanOutException">The metrics do not have the figure.</exception>
    internal static ServiceUsage Read(FanOutOptions options)
    {
        TimeSpan time = TimeSpan.Zero;
        foreach (int pid in options.Pids)
        {
            time += ReadProcessorTime(pid);
        }

        return new(time, options.Metrics is { } metrics ? ReadAllocatedBytes(metrics) : null);
    }

    /// <summary>Since then.</summary>
    internal ServiceUsage Since(ServiceUsage before) => new(ProcessorTime - before.ProcessorTime, AllocatedBytes - before.AllocatedBytes);

    private static TimeSpan ReadProcessorTime(int pid)
    {
        // The name in parentheses may hold anything; the fields are counted from behind it (proc_pid_stat(5)), in hundredths of a second.
        string stat = File.ReadAllText($"/proc/{pid}/stat");
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        long ticks = long.Parse(fields[11], CultureInfo.InvariantCulture) + long.Parse(fields[12], CultureInfo.InvariantCulture);
        return TimeSpan.FromMilliseconds(10 * ticks);
    }

    private static double ReadAllocatedBytes(Uri metrics)
    {
        using HttpClient client = new();
        Match match = Allocated().Match(client.GetStringAsync(metrics).GetAwaiter().GetResult());
        return match.Success
            ? double.Parse(match.Groups["bytes"].Value, CultureInfo.InvariantCulture)
            : throw new FanOutException($"{metrics} has no process_allocated_bytes_total.");
    }

    [GeneratedRegex("^process_allocated_bytes_total (?<bytes>[0-9.E+]+)$", RegexOptions.Multiline)]
    private static partial Regex Allocated();
}
