namespace IoUringCache.Transport.Tests.Support;

/// <summary>Theory data.</summary>
public static class Transports
{
    public static TheoryData<TransportKind> IoUring => [TransportKind.ThreadPool, TransportKind.Inline];

    public static TheoryData<TransportKind> All => [TransportKind.ThreadPool, TransportKind.Inline, TransportKind.Sockets];
}
