namespace IoUringCache.Transport.Tests.Support;

/// <summary>
/// Theory data. The environment variable TEST_TRANSPORTS, if it is "io_uring", leaves the Sockets transport out: other kernels and debug
/// builds are to show what ours does.
/// </summary>
public static class Transports
{
    private static readonly TransportKind[] s_ioUring = [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Adaptive];

    private static readonly TransportKind[] s_all = IncludeSockets ? [.. s_ioUring, TransportKind.Sockets] : s_ioUring;

    /// <summary>Whether this run compares with the Sockets transport.</summary>
    internal static bool IncludeSockets => Environment.GetEnvironmentVariable("TEST_TRANSPORTS") != "io_uring";

    public static TheoryData<TransportKind> IoUring => [.. s_ioUring];

    public static TheoryData<TransportKind> All => [.. s_all];

    /// <summary>Each value on every transport.</summary>
    public static TheoryData<TransportKind, T> AllWith<T>(params IEnumerable<T> values) => Combine(s_all, values);

    /// <summary>Each value with every scheduling.</summary>
    internal static TheoryData<TransportKind, T> IoUringWith<T>(IEnumerable<T> values) => Combine(s_ioUring, values);

    private static TheoryData<TransportKind, T> Combine<T>(TransportKind[] kinds, IEnumerable<T> values)
    {
        TheoryData<TransportKind, T> data = [];
        foreach (T value in values)
        {
            data.AddRange(kinds.Select(kind => (kind, value)).ToArray());
        }

        return data;
    }

    /// <summary>Where application code runs on an io_uring kind.</summary>
    internal static ApplicationScheduling SchedulingOf(TransportKind kind) => kind switch
    {
        TransportKind.Inline => ApplicationScheduling.Inline,
        TransportKind.Adaptive => ApplicationScheduling.Adaptive,
        _ => ApplicationScheduling.ThreadPool,
    };
}
