namespace IoUringCache.Transport.Tests.Support;

/// <summary>Options that make a difference inside: schedulings, loop counts, and rings and buffers so small that everything runs out.</summary>
public static class OptionVariants
{
    private static readonly Dictionary<string, Action<IoUringTransportOptions>> s_variants = new()
    {
        ["thread pool, 1 loop"] = options => Set(options, ApplicationScheduling.ThreadPool, loops: 1),
        ["thread pool, 2 loops"] = options => Set(options, ApplicationScheduling.ThreadPool, loops: 2),
        ["thread pool, ring of 8"] = options => Set(options, ApplicationScheduling.ThreadPool, ringEntries: 8),
        ["thread pool, 2 buffers of 512"] = options => Set(options, ApplicationScheduling.ThreadPool, buffers: 2, bufferSize: 512),
        ["inline, 1 loop"] = options => Set(options, ApplicationScheduling.Inline, loops: 1),
        ["inline, 4 loops"] = options => Set(options, ApplicationScheduling.Inline, loops: 4),
        ["inline, 2 buffers"] = options => Set(options, ApplicationScheduling.Inline, buffers: 2),
        ["inline, ring of 8, 2 buffers of 512"] = options =>
            Set(options, ApplicationScheduling.Inline, ringEntries: 8, buffers: 2, bufferSize: 512),
        ["adaptive, 1 loop"] = options => Set(options, ApplicationScheduling.Adaptive, loops: 1),
        ["adaptive, 4 loops"] = options => Set(options, ApplicationScheduling.Adaptive, loops: 4),
        ["adaptive, ring of 8, 2 buffers of 512"] = options =>
            Set(options, ApplicationScheduling.Adaptive, ringEntries: 8, buffers: 2, bufferSize: 512),
    };

    public static IEnumerable<string> Names => s_variants.Keys;

    internal static Action<IoUringTransportOptions> Named(string name) => s_variants[name];

    private static void Set(
        IoUringTransportOptions options,
        ApplicationScheduling scheduling,
        int loops = 1,
        int ringEntries = 256,
        int buffers = 256,
        int bufferSize = 4096)
    {
        options.ApplicationScheduling = scheduling;
        options.LoopCount = loops;
        options.Advanced.RingEntries = ringEntries;
        options.Advanced.ReceiveBufferCount = buffers;
        options.Advanced.ReceiveBufferSize = bufferSize;
    }
}
