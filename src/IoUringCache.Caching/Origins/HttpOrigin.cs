using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// One origin over HTTP: its addresses, who asks them, and who looks whether they are well. Other options replace these three, and what is under
/// way ends with the old ones. Any thread; owned by the cache.
/// </summary>
internal sealed class HttpOrigin : IOrigin, IAsyncDisposable
{
    private readonly IReadOnlyList<string> _urls;
    private readonly TimeProvider _time;
    private readonly IConnectionFactory _connections;
    private readonly ILogger _log;
    private readonly Lock _lock = new();
    private readonly List<Parts> _replaced = [];
    private volatile Parts _now;

    /// <param name="urls">At least one, without trailing slashes.</param>
    /// <param name="options">Limits and time-outs of each.</param>
    /// <param name="connections">Makes connections to them.</param>
    /// <param name="time">Their clock.</param>
    /// <param name="log">Told of addresses that are not asked any more.</param>
    public HttpOrigin(
        IReadOnlyList<string> urls, OriginOptions options, IConnectionFactory connections, TimeProvider time, ILogger<HttpOrigin> log)
    {
        (_urls, _connections, _time, _log) = (urls, connections, time, log);
        _now = Make(options);
    }

    public OriginReplicas Replicas => _now.Replicas;

    /// <inheritdoc/>
    public int AddressCount => _urls.Count;

    /// <inheritdoc/>
    public long MaxFills => Replicas.MaxFills;

    /// <inheritdoc/>
    public Task<OriginResponse> SendAsync(OriginRequest request, CancellationToken cancellationToken) => _now.Client.SendAsync(request, cancellationToken);

    /// <summary>Takes other options from now on; all circuits are closed again.</summary>
    public void Replace(OriginOptions options)
    {
        lock (_lock)
        {
            _now.Probe.Stop();
            _replaced.Add(_now);
            _now = Make(options);
        }
    }

    /// <summary>Nobody asks it any more, so nobody looks whether it is well.</summary>
    public void StopProbes() => _now.Probe.Stop();

    /// <summary>Requests have ended.</summary>
    public async ValueTask DisposeAsync()
    {
        foreach (Parts parts in _replaced.Append(_now))
        {
            await parts.Probe.DisposeAsync();
            parts.Replicas.Dispose();
        }
    }

    private Parts Make(OriginOptions options)
    {
        OriginReplicas replicas = new(_urls, options, _connections, _time);
        OriginClient client = new(replicas, _time) { Ejected = replica => LogEjection(replica, options) };
        Parts parts = new(replicas, client, new(client, replicas, options, _time));
        parts.Probe.Start();
        return parts;
    }

    private void LogEjection(OriginReplica replica, OriginOptions options)
    {
        if (replica.Circuit.IsUnreachable)
        {
            CacheLog.OriginEjected(_log, replica.Url, options.EjectTime, options.EjectAfter);
        }
        else
        {
            CacheLog.OriginAvoided(_log, replica.Url, options.EjectTime, options.EjectAfter);
        }
    }

    /// <summary>What was made of the same options. Immutable.</summary>
    private sealed record Parts(OriginReplicas Replicas, OriginClient Client, OriginProbe Probe);
}
