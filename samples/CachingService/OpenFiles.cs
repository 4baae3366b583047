namespace CachingService;

/// <summary>
/// Whether the process may open enough files. The runtime cannot say it: where it has no descriptor for an assembly, it says that there is no such
/// file. Uses nothing that would have to be loaded. Any thread; owns nothing.
/// </summary>
internal static class OpenFiles
{
    /// <summary>Some 250 are the service's own, 128 the transport keeps free, and the rest are for clients.</summary>
    internal const int Least = 512;

    private const string Name = "Max open files";

    /// <summary>What is wrong with the limit, in a sentence; <see langword="null"/> if it is high enough, or not known.</summary>
    internal static string? FindFault() => File.Exists("/proc/self/limits") ? FindFault(File.ReadAllText("/proc/self/limits")) : null;

    /// <param name="limits">As in proc_pid_limits(5): the line of each limit has its name, the soft limit, the hard limit and the unit.</param>
    internal static string? FindFault(string limits)
    {
        int start = limits.IndexOf(Name, StringComparison.Ordinal);
        if (start < 0)
        {
            return null;
        }

        string soft = limits[(start + Name.Length)..].TrimStart().Split(' ')[0];
        return int.TryParse(soft, out int limit) && limit < Least
            ? $"The limit of open files is {limit}, and the service needs at least {Least}: raise it with `LimitNOFILE=` or `ulimit -n`."
            : null;
    }
}
