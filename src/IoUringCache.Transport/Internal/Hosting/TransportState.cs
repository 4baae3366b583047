namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// What a host has decided at its first bind; <see cref="IoUringTransportInfo"/> says what the values mean. It is a
/// fallback if io_uring was wanted and Sockets serves. Immutable; any thread.
/// </summary>
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
