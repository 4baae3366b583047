using System.Globalization;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// How many descriptors the process may have open: the soft limit (RLIMIT_NOFILE), which .NET raises to the hard one at
/// its start. Read once. Any thread.
/// </summary>
/// <remarks>Source: getrlimit(2), proc_pid_limits(5).</remarks>
internal static class OpenFileLimit
{
    private const string Name = "Max open files";

    /// <summary>The limit; <see cref="long.MaxValue"/> if there is none or it cannot be read.</summary>
    internal static long Value { get; } = Read();

    /// <summary>Its line is name, soft limit, hard limit, unit.</summary>
    private static long Read()
    {
        try
        {
            string? line = File.ReadLines("/proc/self/limits").FirstOrDefault(line => line.StartsWith(Name, StringComparison.Ordinal));
            string? soft = line?[Name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries).FirstOrDefault();
            return long.TryParse(soft, CultureInfo.InvariantCulture, out long limit) ? limit : long.MaxValue;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return long.MaxValue;
        }
    }
}
