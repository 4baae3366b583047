namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Threads for application code that may block. Calls that are known to block have a queue and threads of their own, so that however many
/// there are, they do not hold up those that are not: the accept and the first request of a new connection among them. None of them
/// runs on the thread pool, where Kestrel starts connections.
/// <para>Any thread, except where a member says otherwise; owned by the group of loops that use it.</para>
/// </summary>
/// <param name="limit">Threads for either kind that are made without delay.</param>
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
