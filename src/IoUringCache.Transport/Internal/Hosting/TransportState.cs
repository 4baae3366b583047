namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>What a host has decided at its first bind. Immutable; any thread.</summary>
/// <param name="Backend">The back end that serves; null before the first bind.</param>
/// <param name="Reason">Why it serves, in one line.</param>
/// <param name="Scheduling">Where application code runs; null before the first bind.</param>
/// <param name="LoopCount">Event loops; 0 without io_uring.</param>
/// <param name="RingFeatures">What the kernel accepted at the set-up of the rings; empty without io_uring.</param>
/// <param name="IsFallback">Whether io_uring was wanted and Sockets serves.</param>
internal sealed record TransportState(
    TransportBackend? Backend,
    string Reason,
    ApplicationScheduling? Scheduling = null,
    int LoopCount = 0,
    string RingFeatures = "",
    bool IsFallback = false)
{
    internal static TransportState NotBound { get; } = new(null, "not bound yet");
}
