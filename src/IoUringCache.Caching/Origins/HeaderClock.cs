using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The time that an origin has until its response headers. Stands still while a client is waited for, and begins anew with each piece of
/// the client's body: a long upload is not a slow origin. Over HTTP/2 the headers may come before that body has ended, which then goes on
/// without a clock. One request's; any thread.
/// </summary>
internal sealed class HeaderClock(TimeSpan limit, TimeProvider time) : IWaitClock, IDisposable
{
    private readonly CancellationTokenSource _source = new(limit, time);
    private readonly Lock _lock = new();
    private bool _isOver;

    /// <summary>Cancelled when the time is over, or by <see cref="Cancel"/>.</summary>
    public CancellationToken Token => _source.Token;

    /// <summary>The client is waited for.</summary>
    public void Stop() => Set(Timeout.InfiniteTimeSpan);

    /// <summary>The origin is waited for.</summary>
    public void Restart() => Set(limit);

    /// <summary>The caller has given up.</summary>
    public void Cancel() => _source.Cancel();

    /// <summary>The headers have come, or will not; nothing sets it any more.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            _isOver = true;
        }

        _source.Dispose();
    }

    private void Set(TimeSpan left)
    {
        lock (_lock)
        {
            if (!_isOver)
            {
                _source.CancelAfter(left);
            }
        }
    }
}
