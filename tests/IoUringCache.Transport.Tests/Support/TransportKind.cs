namespace IoUringCache.Transport.Tests.Support;

/// <summary>What a test runs on; tests over all of them are the parity suite.</summary>
public enum TransportKind
{
    /// <summary>io_uring, application code on the thread pool.</summary>
    ThreadPool,

    /// <summary>io_uring, application code on the loop.</summary>
    Inline,

    /// <summary>io_uring, application code on the loop, which moves on when that blocks.</summary>
    Adaptive,

    /// <summary>Kestrel's own Sockets transport: the yardstick.</summary>
    Sockets,
}
