namespace IoUringCache.Transport.Tests.Support;

/// <summary>Theory data.</summary>
public static class Transports
{
    public static TheoryData<TransportKind> IoUring => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Adaptive];

    public static TheoryData<TransportKind> All => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Adaptive, TransportKind.Sockets];

    /// <summary>Where application code runs on an io_uring kind.</summary>
    internal static ApplicationScheduling SchedulingOf(TransportKind kind) => kind switch
    {
        TransportKind.Inline => ApplicationScheduling.Inline,
        TransportKind.Adaptive => ApplicationScheduling.Adaptive,
        _ => ApplicationScheduling.ThreadPool,
    };
}
