using IoUringCache.Transport.Internal.Hosting;

namespace IoUringCache.Transport;

/// <summary>
/// Tells which back end serves a host's connections, and why. A singleton of the host's services, which
/// <c>UseIoUring</c> and <c>AddIoUringTransport</c> add. The first end point that is bound decides, once. Read-only;
/// any thread.
/// </summary>
/// <example><code>
/// app.MapGet("/transport", (IoUringTransportInfo transport) => $"{transport.Backend}: {transport.Reason}");
/// </code></example>
public sealed class IoUringTransportInfo
{
    private volatile TransportState _state = TransportState.NotBound;

    internal IoUringTransportInfo()
    {
    }

    /// <summary>
    /// The back end that serves: <see cref="TransportBackend.IoUring"/> or <see cref="TransportBackend.Sockets"/>.
    /// <see langword="null"/> before the first end point is bound.
    /// </summary>
    public TransportBackend? Backend => _state.Backend;

    /// <summary>
    /// Why it serves, in one line: <c>not bound yet</c>, <c>configured</c>, <c>supported</c>, or why io_uring is
    /// unavailable and what to change.
    /// </summary>
    public string Reason => _state.Reason;

    /// <summary>
    /// Event loops of io_uring, each one thread and one ring. 1 to 128; 0 where io_uring does not serve.
    /// </summary>
    public int LoopCount => _state.LoopCount;

    /// <summary>
    /// What the kernel accepted at the set-up of the rings, for example <c>single issuer, deferred task run</c>. Empty
    /// where io_uring does not serve.
    /// </summary>
    public string RingFeatures => _state.RingFeatures;

    /// <summary>What the first bind has decided. Set once, by the factory.</summary>
    internal TransportState State
    {
        get => _state;
        set => _state = value;
    }
}
