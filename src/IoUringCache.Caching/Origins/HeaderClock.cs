using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The time that an origin has until its response headers. Stands still while a client is waited for, and begins anew with each piece of
/// the client's body: a long upload is not a slow origin. One request's; any thread, one at a time.
/// </summary>
internal sealed class HeaderClock(TimeSpan limit, TimeProvider time) : IWaitClock, IDisposable
{
    private readonly CancellationTokenSource _source = new(limit, time);

    /// <summary>Cancelled when the time is over, or by <see cref="Cancel"/>.</summary>
    public CancellationToken Token => _source.Token;

    /// <summary>The client is waited for.</summary>
    public void Stop() => _source.CancelAfter(Timeout.InfiniteTimeSpan);

    /// <summary>The origin is waited for.</summary>
    public void Restart() => _source.CancelAfter(limit);

    /// <summary>The caller has given up.</summary>
    public void Cancel() => _source.Cancel();

    public void Dispose() => _source.Dispose();
}
