namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Threads for application code that may block. Calls that are known to block have a queue of their own, so that they
/// do not delay others, such as a new connection's first request. Any thread; owned by the group's
/// <see cref="LoopWatchdog"/>.
/// </summary>
/// <param name="limit">Threads of either queue that are made without delay, 1 or more.</param>
internal sealed class HandlerThreads(int limit = HandlerThreads.Limit) : IDisposable
{
    private const int Limit = 2048;

    private readonly HandlerQueue _knownToBlock = new(limit);
    private readonly HandlerQueue _others = new(limit);

    /// <summary>Runs a call on a thread that no loop waits for.</summary>
    internal void Run(LoopWorkItem call) => (call.IsKnownToBlock ? _knownToBlock : _others).Run(call);

    /// <inheritdoc cref="HandlerQueue.Relieve"/>
    internal bool Relieve(long now) => _knownToBlock.Relieve(now) | _others.Relieve(now);

    /// <inheritdoc cref="HandlerQueue.Dispose"/>
    public void Dispose()
    {
        _knownToBlock.Dispose();
        _others.Dispose();
    }
}
