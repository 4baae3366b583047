using System.Diagnostics;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;
using IoUringCache.Transport;

namespace IoUringCache.Caching.Filling;

/// <summary>
/// Where requests wait for the headers of the fills that they have joined: so many at a time, and each as long as its route allows. Who
/// started a fill counts and is never refused, because the fill itself was counted. Any thread; one per service.
/// </summary>
internal sealed class WaitingRoom(LiveOptions options, TimeProvider time)
{
    private int _count;

    public int Count => Volatile.Read(ref _count);

    /// <summary>What the fill tells; or a failure of our own, if there is no room or the time is over. The fill goes on in any case.</summary>
    /// <param name="load">What the request's loop sheds at the moment.</param>
    /// <exception cref="OperationCanceledException">The client has gone.</exception>
    public async ValueTask<FillHeaders> WaitAsync(
        FillReader reader, RoutePolicy route, LoadStep load, IConnectionSchedulerFeature scheduler, CancellationToken gone)
    {
        if (reader.Headers.Told is { } told)
        {
            return told;
        }

        if (load >= LoadStep.NoNewWaiters && reader.Role != ReaderRole.Leader)
        {
            return new(null, null, OriginException.Overloaded(LoadGauge.Detail));
        }

        using Activity? span = reader.IsLeader ? null : CacheSpans.StartWait();
        try
        {
            FillHeaders headers = Interlocked.Increment(ref _count) > options.Now.MaxWaiters && reader.Role != ReaderRole.Leader
                ? new(null, null, OriginException.Overloaded("too-many-waiters"))
                : route.HoldTime == TimeSpan.Zero ? await reader.Headers.WaitAsync(scheduler, gone)
                : await WaitAsync(reader, route.HoldTime, scheduler, gone);
            if (headers is { Shared: null, Failure: { } failure })
            {
                span?.SetTag("error.type", failure.Detail).SetStatus(ActivityStatusCode.Error);
            }

            return headers;
        }
        finally
        {
            reader.Trace?.LinkFrom(span);
            Interlocked.Decrement(ref _count);
        }
    }

    private async ValueTask<FillHeaders> WaitAsync(
        FillReader reader, TimeSpan holdTime, IConnectionSchedulerFeature scheduler, CancellationToken gone)
    {
        using CancellationTokenSource patience = new(holdTime, time);
        await using CancellationTokenRegistration registration = gone.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), patience);
        try
        {
            return await reader.Headers.WaitAsync(scheduler, patience.Token);
        }
        catch (OperationCanceledException) when (!gone.IsCancellationRequested)
        {
            return new(null, null, OriginException.Overloaded("hold-time"));
        }
    }
}
