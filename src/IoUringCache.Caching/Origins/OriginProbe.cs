using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Asks every address of the origin for one path from time to time, so that one that is down is known before a client meets it, and one
/// that is back is used before its time is over. Owned by the host; one task.
/// </summary>
internal sealed class OriginProbe(OriginClient client, OriginReplicas replicas, OriginOptions options, TimeProvider time) : IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private Task _probing = Task.CompletedTask;

    /// <summary>Does nothing where no path is configured.</summary>
    public void Start()
    {
        if (options.ProbePath is { } path)
        {
            _probing = ProbeAsync(path);
        }
    }

    /// <summary>Asks no more; what is asked at the moment is given up. Cancelled and not disposed of: the source holds no timer.</summary>
    public void Stop() => _stop.Cancel();

    public async ValueTask DisposeAsync()
    {
        Stop();
        await _probing.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private async Task ProbeAsync(string path)
    {
        while (true)
        {
            await Task.Delay(options.ProbeInterval, time, _stop.Token);
            await Task.WhenAll(replicas.All.Select(replica => client.ProbeAsync(replica, path, _stop.Token)));
        }
    }
}
