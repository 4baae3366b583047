using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Origins;

/// <summary>One origin over HTTP: its addresses, who asks them, and who looks whether they are well. Any thread; owned by the cache.</summary>
internal sealed class HttpOrigin : IDisposable
{
    private readonly OriginProbe _probe;
    private readonly OriginOptions _options;
    private readonly ILogger _log;

    /// <param name="urls">At least one, without trailing slashes.</param>
    /// <param name="options">Limits and time-outs of each.</param>
    /// <param name="time">Their clock.</param>
    /// <param name="log">Told of addresses that are not asked any more.</param>
    public HttpOrigin(IReadOnlyList<string> urls, OriginOptions options, TimeProvider time, ILogger<HttpOrigin> log)
    {
        (_options, _log) = (options, log);
        Replicas = new(urls, options, time);
        Client = new(Replicas, options, time) { Ejected = LogEjection };
        _probe = new(Client, Replicas, options, time);
        _probe.Start();
    }

    public OriginReplicas Replicas { get; }

    public OriginClient Client { get; }

    public ValueTask StopProbesAsync() => _probe.DisposeAsync();

    public void Dispose() => Client.Dispose();

    private void LogEjection(OriginReplica replica)
    {
        if (replica.Circuit.IsUnreachable)
        {
            CacheLog.OriginEjected(_log, replica.Url, _options.EjectTime, _options.EjectAfter);
        }
        else
        {
            CacheLog.OriginAvoided(_log, replica.Url, _options.EjectTime, _options.EjectAfter);
        }
    }
}
