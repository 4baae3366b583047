using System.Globalization;

namespace CachingService.Tests.Infrastructure;

/// <summary>What the kernel holds of what was sent, by <c>/proc/net/tcp</c> (proc_pid_net(5)).</summary>
internal static class SendQueues
{
    /// <summary>Bytes that are not acknowledged, of all connections at the port of this URL.</summary>
    public static long BytesOf(string url)
    {
        string port = string.Create(CultureInfo.InvariantCulture, $":{new Uri(url).Port:X4}");
        return File.ReadLines("/proc/net/tcp")
            .Select(line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Where(fields => fields[1].EndsWith(port, StringComparison.Ordinal))
            .Sum(fields => long.Parse(fields[4].AsSpan(0, 8), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
    }
}
