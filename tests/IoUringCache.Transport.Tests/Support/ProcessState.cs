namespace IoUringCache.Transport.Tests.Support;

/// <summary>What the process holds, as the kernel sees it.</summary>
internal static class ProcessState
{
    /// <summary>
    /// Sockets, rings, event descriptors. Not files: the runtime opens those of assemblies whenever it first needs one. Nor the one of each
    /// spare thread: a busy machine makes handlers look blocked at any time, and the thread stays. A thread that is about to end has closed its
    /// own already and is still counted, so whoever compares counts waits for <see cref="LoopsEndedAsync"/> first.
    /// </summary>
    internal static int DescriptorCount => Directory.GetFiles("/proc/self/fd").Count(IsNoFile) - SpareThreadCount;

    /// <summary>Home threads: one of each loop.</summary>
    internal static int LoopThreadCount => CountThreads("io_uring loop");

    /// <summary>Threads that take over loops, or could.</summary>
    internal static int SpareThreadCount => CountThreads("io_uring spare");

    /// <summary>Bytes that system calls of the process have written: those of write(2) and sendfile(2), not those of sends.</summary>
    internal static long WrittenBytes => long.Parse(File.ReadLines("/proc/self/io").Single(line => line.StartsWith("wchar:", StringComparison.Ordinal))[6..]);

    /// <summary>Whether somebody has set <c>O_NONBLOCK</c> on a descriptor. A <c>Socket</c> only remembers what was set through it.</summary>
    internal static bool IsNonBlocking(nint descriptor)
    {
        const int NonBlocking = 0x800;
        string flags = File.ReadLines($"/proc/self/fdinfo/{descriptor}").Single(line => line.StartsWith("flags:", StringComparison.Ordinal));
        return (Convert.ToInt32(flags["flags:".Length..].Trim(), fromBase: 8) & NonBlocking) != 0;
    }

    /// <summary>A loop's owner goes on when the loop has ended; its threads may be there for a moment longer.</summary>
    internal static Task LoopsEndedAsync() => Deadline.UntilAsync(
        () => LoopThreadCount + SpareThreadCount == 0, () => $"{LoopThreadCount} loop threads and {SpareThreadCount} spares are left.");

    private static int CountThreads(string name) => Directory.GetDirectories("/proc/self/task").Count(task => IsNamed(task, name));

    private static bool IsNoFile(string descriptor)
    {
        // "socket:[123]" and "anon_inode:[io_uring]" against "/usr/lib/...". Null: it was closed meanwhile.
        string? target = new FileInfo(descriptor).LinkTarget;
        return target is not null && !target.StartsWith('/');
    }

    private static bool IsNamed(string task, string name)
    {
        try
        {
            // The kernel keeps 15 characters of a thread's name.
            return File.ReadAllText(Path.Combine(task, "comm")).StartsWith(name, StringComparison.Ordinal);
        }
        catch (IOException)
        {
            return false; // The thread ended meanwhile.
        }
    }
}
