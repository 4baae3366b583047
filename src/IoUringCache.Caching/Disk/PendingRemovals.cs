namespace IoUringCache.Caching.Disk;

/// <summary>Removals that have yet to reach the disk. Any thread; one per tier. Its lock may be taken under the catalog's.</summary>
internal sealed class PendingRemovals
{
    private readonly Lock _lock = new();
    private readonly HashSet<Task> _pending = [];

    /// <summary>Keeps a removal until it has ended.</summary>
    public void Add(Task removal)
    {
        if (removal.IsCompleted)
        {
            return;
        }

        lock (_lock)
        {
            _pending.Add(removal);
        }

        removal.ContinueWith(
            ended =>
            {
                lock (_lock)
                {
                    _pending.Remove(ended);
                }
            },
            CancellationToken.None,
            TaskContinuationOptions.None,
            TaskScheduler.Default);
    }

    /// <summary>Ends when all removals that are pending now have ended.</summary>
    public Task SettledAsync()
    {
        lock (_lock)
        {
            return _pending.Count == 0 ? Task.CompletedTask : Task.WhenAll(_pending);
        }
    }
}
