using IoUringCache.Caching.Storage;
using IoUringCache.Transport;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// What becomes of a fill's request to the origin, for all who wait for that. They go on by themselves, where their requests run: the fill runs
/// no client's code. Any thread; belongs to one fill.
/// </summary>
internal sealed class PendingHeaders
{
    private readonly ChangeSignal _signal = new();
    private FillHeaders? _told;

    /// <summary><see langword="null"/> until it is known.</summary>
    public FillHeaders? Told => Volatile.Read(ref _told);

    /// <summary>It is known. The first time counts: what comes after headers is told by the body.</summary>
    public void Tell(FillHeaders headers)
    {
        if (Interlocked.CompareExchange(ref _told, headers, null) is null)
        {
            _signal.RaiseLast();
        }
    }

    /// <exception cref="OperationCanceledException">The wait was ended.</exception>
    public async ValueTask<FillHeaders> WaitAsync(IConnectionSchedulerFeature scheduler, CancellationToken ended)
    {
        using ChangeWaiter waiter = new(_signal, scheduler, ended);
        while (true)
        {
            long version = _signal.Version;
            if (Told is { } headers)
            {
                return headers;
            }

            await waiter.WaitAsync(version);
        }
    }
}
