namespace IoUringCache.Transport.Tests.Support;

/// <summary>What the process holds, as the kernel sees it.</summary>
internal static class ProcessState
{
    internal static int DescriptorCount => Directory.GetFiles("/proc/self/fd").Length;

    internal static int LoopThreadCount => Directory.GetDirectories("/proc/self/task").Count(IsLoop);

    private static bool IsLoop(string task)
    {
        try
        {
            // The kernel keeps 15 characters of a thread's name.
            return File.ReadAllText(Path.Combine(task, "comm")).StartsWith("io_uring loop", StringComparison.Ordinal);
        }
        catch (IOException)
        {
            return false; // The thread ended meanwhile.
        }
    }
}
