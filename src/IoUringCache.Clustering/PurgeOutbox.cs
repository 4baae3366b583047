using IoUringCache.Caching.Filling;

namespace IoUringCache.Clustering;

/// <summary>Purges of this node that the log does not have yet, in order. Any thread adds, one task at a time sends; one per node.</summary>
/// <remarks>A purge stays until the log has it, whatever connections fail. A full outbox turns its last purge into one of everything.</remarks>
internal sealed class PurgeOutbox(string instance, ClusterOptions options, ILogger log)
{
    /// <summary>Largest number of purges; some megabytes of keys and tags.</summary>
    public const int MaxCount = 10_000;

    private readonly Queue<Unsent> _unsent = new();
    private readonly SemaphoreSlim _added = new(0);
    private readonly Lock _lock = new();
    private Unsent? _last;
    private long _lastId;

    /// <summary>Sends a message. The log uses the id to drop a message that it has. Returns the message's number.</summary>
    public delegate Task<long> Send(string id, byte[] text);

    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _unsent.Count;
            }
        }
    }

    /// <inheritdoc cref="IPurgeLog.Append"/>
    public Task<long> Append(Purge purge)
    {
        lock (_lock)
        {
            // Only the first can be on its way to the log; the last can still change.
            if (_unsent.Count == MaxCount && _last is { } last)
            {
                if (last.Purge.Scope != PurgeScope.All)
                {
                    ClusterLog.Merged(log, options.Stream);
                }

                last.Purge = Purge.OfAll(last.Purge.IsSoft && purge.IsSoft);
                return last.Logged.Task;
            }

            Unsent added = new($"{instance}-{++_lastId}", purge);
            _unsent.Enqueue(added);
            _last = added;
            _added.Release();
            return added.Logged.Task;
        }
    }

    /// <summary>Sends purges until it is cancelled or a send fails. The next call begins with the purge that failed.</summary>
    public async Task SendAsync(Send send, CancellationToken cancellationToken)
    {
        while (true)
        {
            Unsent? first;
            byte[] text;
            while (true)
            {
                lock (_lock)
                {
                    if (_unsent.TryPeek(out first))
                    {
                        text = new PurgeMessage(instance, first.Purge.Scope, first.Purge.Name, first.Purge.IsSoft).Write();
                        break;
                    }
                }

                await _added.WaitAsync(cancellationToken);
            }

            long number = await send(first.Id, text);
            lock (_lock)
            {
                _unsent.Dequeue();
                if (_last == first)
                {
                    _last = null;
                }
            }

            first.Logged.SetResult(number);
        }
    }

    /// <summary>A waiting purge. It changes under the lock, and only while it is not the first.</summary>
    private sealed class Unsent(string id, Purge purge)
    {
        public string Id { get; } = id;

        public Purge Purge { get; set; } = purge;

        public TaskCompletionSource<long> Logged { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
