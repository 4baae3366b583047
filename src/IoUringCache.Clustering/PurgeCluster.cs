using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Options;

namespace IoUringCache.Clustering;

/// <summary>
/// Connects one cache to the log of purges of its cluster, in sessions of one connection each; the first failure ends a session, and another one
/// begins. Any thread; owned by the service, which disposes of it before the cache.
/// </summary>
internal sealed class PurgeCluster : IPurgeLog, IAsyncDisposable
{
    /// <summary>Pause between two sessions. The pauses spare the server, and go by the system's clock.</summary>
    private static readonly TimeSpan s_retryDelay = TimeSpan.FromMilliseconds(500);

    /// <summary>Shortest time between two reports, so that many purges make one report.</summary>
    private static readonly TimeSpan s_reportSpacing = TimeSpan.FromMilliseconds(10);

    /// <summary>Time limit for removing the report at the end.</summary>
    private static readonly TimeSpan s_leaveTime = TimeSpan.FromSeconds(1);

    private readonly ClusterOptions _options;
    private readonly CacheEngine _cache;
    private readonly ILogger _log;
    private readonly string _instance = Guid.NewGuid().ToString("n");
    private readonly long _started;
    private readonly Knowledge _knowledge;
    private readonly PurgeOutbox _outbox;
    private readonly PurgeFollower _follower;
    private readonly NodeTable _nodes;
    private readonly SemaphoreSlim _progress = new(0);
    private readonly CancellationTokenSource _stopping = new();

    private Task _sessions = Task.CompletedTask;
    private long _last;

    /// <param name="cache">A cache that has not served a request yet.</param>
    public PurgeCluster(ClusterOptions options, CacheEngine cache, ILoggerFactory loggers)
    {
        (_options, _cache, _log) = (options, cache, loggers.CreateLogger<PurgeCluster>());
        _started = cache.Time.GetUtcNow().ToUnixTimeMilliseconds();
        _knowledge = new(options, cache.Purges, cache.Time, _log);
        _outbox = new(_instance, options, _log);
        _follower = new(_instance, options, cache.Purger, _log) { Progressed = () => _progress.Release() };
        _nodes = new(cache.Time);
        cache.Purger.Log = this;
        cache.Metrics.Gauge("cache.cluster.state", "{state}", "0: starting, purges are not known yet. 1: all are known. 2: cut off.", () => (int)State);
        cache.Metrics.Gauge("cache.cluster.lag", "{purge}", "Messages of the log that are not applied yet.", () => Lag);
        cache.Metrics.Gauge("cache.cluster.unsent", "{purge}", "Purges of this node that the log does not have yet.", () => Unsent);
        cache.Metrics.Gauge("cache.cluster.nodes", "{node}", "Nodes that report, this one included.", () => Nodes.Count);
        cache.Metrics.Count("cache.cluster.applied", "{purge}", "Purges of other nodes that were applied.", () => _follower.Count);
    }

    public ClusterState State => _knowledge.State;

    public TimeSpan Silence => _knowledge.Silence;

    /// <summary>Why the last session ended; <see langword="null"/> while one works.</summary>
    public string? Fault => _knowledge.Reason;

    public string Node => _options.Node;

    public long Applied => _follower.Applied;

    /// <summary>Messages of the log that are not applied yet, by the last measurement of the log.</summary>
    public long Lag => Math.Max(0, Volatile.Read(ref _last) - Applied);

    /// <summary>Purges of this node that the log does not have yet.</summary>
    public int Unsent => _outbox.Count;

    public IReadOnlyList<NodeReport> Nodes => _nodes.Live;

    /// <summary>Starts the first session, once the disk tier is open. Waits for it only if the log is required.</summary>
    /// <exception cref="OptionException">The log is required and was not reached in time.</exception>
    public async Task StartAsync(CancellationToken cancellationToken)
    {
        if (_cache.Disk is { } disk)
        {
            _follower.Continue(disk.OpenLogPlace());
        }

        _knowledge.Begin();
        _sessions = Task.Run(RunAsync, CancellationToken.None);
        try
        {
            await (_options.IsRequired ? _knowledge.FirstKnown.WaitAsync(_options.MaxSilence, _cache.Time, cancellationToken) : Task.CompletedTask);
        }
        catch (TimeoutException)
        {
            throw new OptionException(
                $"Option {ClusterOptionCatalog.Nats.Name}: the log of purges was not reached in {_options.MaxSilence}: {Fault ?? "no answer"}");
        }
    }

    public Task<long> Append(Purge purge) => _outbox.Append(purge);

    public Task<IReadOnlyList<string>> WaitUntilAppliedAsync(long number, TimeSpan limit) => _nodes.WaitAsync(number, _follower.Log, Node, limit);

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _sessions;
        _knowledge.Dispose();
        _stopping.Dispose();
    }

    private async Task RunAsync()
    {
        while (!_stopping.IsCancellationRequested)
        {
            string reason;
            try
            {
                reason = await RunSessionAsync();
            }
            catch (Exception failure) when (!_stopping.IsCancellationRequested)
            {
                reason = failure.GetBaseException().Message;
            }
            catch
            {
                return;
            }

            // A reason is logged once, until it changes.
            if (_knowledge.Reason != reason)
            {
                _knowledge.Reason = reason;
                ClusterLog.NoConnection(_log, _options.Stream, reason);
            }

            await Task.Delay(s_retryDelay, _stopping.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Follows the log, reports, hears reports and sends purges, until one of these fails.</summary>
    private async Task<string> RunSessionAsync()
    {
        using CancellationTokenSource ending = CancellationTokenSource.CreateLinkedTokenSource(_stopping.Token);
        await using JetStreamClient client = await JetStreamClient.OpenAsync(_options, ending.Token);
        LogExtent log = await client.MeasureAsync(ending.Token);
        long first = await _follower.BeginAsync(log);
        Task[] parts =
        [
            FollowAsync(client, first, ending.Token),
            ReportAsync(client, log.Stream, ending.Token),
            HearAsync(client, ending.Token),
            _follower.SettleAsync(
                number => _nodes.WaitForShieldsAsync(number, log.Stream, Node, _options.MaxSilence / 4, ending.Token), ending.Token),
            _outbox.SendAsync((id, text) => client.PublishAsync(id, text, ending.Token), ending.Token),
            client.Lost,
        ];
        try
        {
            await await Task.WhenAny(parts);
            return client.Lost.IsCompleted ? "the connection was lost" : "the server ended a subscription";
        }
        finally
        {
            await ending.CancelAsync();
            await Task.WhenAll(parts[..^1]).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (_stopping.IsCancellationRequested)
            {
                await LeaveAsync(client);
            }
        }
    }

    private async Task FollowAsync(JetStreamClient client, long first, CancellationToken cancellationToken)
    {
        await foreach (LogMessage message in client.ReadAsync(first, cancellationToken))
        {
            await _follower.ApplyAsync(message.Number, message.Text, message.IsLast);
        }
    }

    /// <summary>
    /// Reports after each progress, and four times in the longest silence. After a report it measures the log and compares: in this order, so that a
    /// node that purges after the measurement waits for this one.
    /// </summary>
    private async Task ReportAsync(JetStreamClient client, long stream, CancellationToken cancellationToken)
    {
        TimeSpan interval = _options.MaxSilence / 4;
        long? measuredAt = null;
        while (true)
        {
            long before = _cache.Time.GetTimestamp();
            await client.TellAsync(Describe(), cancellationToken);
            if (measuredAt is null || _cache.Time.GetElapsedTime(measuredAt.Value) >= interval)
            {
                LogExtent log = await client.MeasureAsync(cancellationToken);
                if (log.Stream != stream)
                {
                    throw new InvalidOperationException("the log was made anew");
                }

                Volatile.Write(ref _last, log.Last);
                measuredAt = before;
            }

            if (Applied >= Volatile.Read(ref _last))
            {
                _knowledge.Reason = null;
                _knowledge.Confirm(measuredAt.Value);
            }

            await _progress.WaitAsync(interval, cancellationToken);
            await Task.Delay(s_reportSpacing, cancellationToken);
            while (_progress.Wait(0, CancellationToken.None))
            {
                // The next report has all progress so far.
            }
        }
    }

    private async Task HearAsync(JetStreamClient client, CancellationToken cancellationToken)
    {
        await foreach ((string instance, NodeReport? report) in client.HearAsync(cancellationToken))
        {
            if (report is null)
            {
                _nodes.Remove(instance);
            }
            else if (!_nodes.Hear(report) && report.Instance == _instance)
            {
                ClusterLog.NameTaken(_log, Node);
            }
        }
    }

    /// <summary>Has other nodes stop waiting for this one. If this fails, they stop after twice the longest silence.</summary>
    private async Task LeaveAsync(JetStreamClient client)
    {
        using CancellationTokenSource limit = new(s_leaveTime);
        try
        {
            await client.LeaveAsync(_instance, limit.Token);
        }
        catch (Exception failure)
        {
            ClusterLog.NoConnection(_log, _options.Stream, failure.GetBaseException().Message);
        }
    }

    private NodeReport Describe() => new(
        Node, _instance, _started, State, _follower.Received, Applied, _options.HasShields, _options.MaxSilence.TotalSeconds,
        new(_cache.Metrics.Hits, _cache.Metrics.Joins + _cache.Metrics.Misses + _cache.Metrics.Passes, _cache.Metrics.Fills, _cache.Store.Count),
        _follower.Log);
}
