namespace IoUringCache.Caching.Storage;

/// <summary>
/// Removes from the store, each second and without anybody asking, what has expired or was purged, and the tags that no object has any more. The
/// store's lock is held for a few hundred objects at a time, so whoever waits for it does not wait for all of them. Runs on the clock's timer;
/// owned by the service.
/// </summary>
internal sealed class StoreSweep : IDisposable
{
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(1);

    private readonly ObjectStore _store;
    private readonly PurgeEpochs _purges;
    private readonly ITimer _timer;
    private int _isRunning;

    public StoreSweep(ObjectStore store, PurgeEpochs purges, TimeProvider time)
    {
        (_store, _purges) = (store, purges);

        // The timer must not keep the caller's execution context.
        using (ExecutionContext.SuppressFlow())
        {
            _timer = time.CreateTimer(static sweep => ((StoreSweep)sweep!).Run(), this, s_interval, s_interval);
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Run()
    {
        // One that takes longer than a second is not overtaken by the next.
        if (Interlocked.Exchange(ref _isRunning, 1) != 0)
        {
            return;
        }

        while (_store.Sweep())
        {
        }

        _purges.RemoveUnusedTags(inUse: _store.Tags.Count + (_store.Below?.TagCount ?? 0));
        Volatile.Write(ref _isRunning, 0);
    }
}
