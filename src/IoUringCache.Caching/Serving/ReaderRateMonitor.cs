using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Cuts clients that take a body more slowly than <c>Cache:MinReaderRate</c>. Looks once a second, and only at responses whose flush waits just
/// then, so that a response that never waits costs nothing. Any thread; one per service.
/// </summary>
internal sealed class ReaderRateMonitor : IDisposable
{
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(1);

    private readonly LiveOptions _options;
    private readonly CacheMetrics _metrics;
    private readonly TimeProvider _time;
    private readonly ILogger _log;
    private readonly Lock _lock = new();
    private readonly List<WaitingResponse> _watched = [];
    private readonly ITimer _timer;
    private int _isRunning;

    public ReaderRateMonitor(LiveOptions options, CacheMetrics metrics, TimeProvider time, ILogger<ReaderRateMonitor> log)
    {
        (_options, _metrics, _time, _log) = (options, metrics, time, log);

        // The timer must not keep the caller's execution context.
        using (ExecutionContext.SuppressFlow())
        {
            _timer = time.CreateTimer(
                static monitor => ((ReaderRateMonitor)monitor!).Run(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>Responses whose flush waits for their client just now.</summary>
    public int WaitingCount
    {
        get
        {
            lock (_lock)
            {
                return _watched.Count(response => response.IsWaiting);
            }
        }
    }

    /// <summary>Bounds the time that a flush waits for its client.</summary>
    /// <param name="flush">As it was begun. Awaited only here.</param>
    /// <param name="flushedBytes">Bytes of the body, or of the range that is being sent, before those of this flush.</param>
    /// <returns>The flush; it ends when it does, or when the client has been cut.</returns>
    public ValueTask<FlushResult> WatchAsync(HttpContext client, ValueTask<FlushResult> flush, long flushedBytes) =>
        flush.IsCompleted || ReaderRate.Of(client, _options.Now.Routes) == 0 ? flush : WaitAsync(client, flush, flushedBytes);

    public void Dispose() => _timer.Dispose();

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> WaitAsync(HttpContext client, ValueTask<FlushResult> flush, long flushedBytes)
    {
        WaitingResponse response = ResponseOf(client);
        response.BeginWait(flushedBytes);
        Watch(response);
        try
        {
            return await flush;
        }
        finally
        {
            response.EndWait();
        }
    }

    /// <summary>Made at its first wait, and the same from then on: what a client has taken counts for the whole response.</summary>
    private WaitingResponse ResponseOf(HttpContext client)
    {
        if (client.Features.Get<WaitingResponse>() is { } response)
        {
            return response;
        }

        response = new(client, ReaderRate.Of(client, _options.Now.Routes), _time);
        client.Features.Set(response);
        return response;
    }

    /// <summary>After the beginning of a wait, so that <see cref="Run"/>, which forgets those that do not wait, finds it waiting.</summary>
    private void Watch(WaitingResponse response)
    {
        lock (_lock)
        {
            if (response.IsWatched)
            {
                return;
            }

            response.IsWatched = true;
            _watched.Add(response);
            if (_watched.Count == 1)
            {
                _timer.Change(s_interval, s_interval);
            }
        }
    }

    private void Run()
    {
        // One that takes longer than a second is not overtaken by the next.
        if (Interlocked.Exchange(ref _isRunning, 1) != 0)
        {
            return;
        }

        int cut = Waiting().Count(static response => response.TryCut());
        if (cut > 0)
        {
            _metrics.ReadersCut(CutReason.Rate, cut);
            CacheLog.ReadersCut(_log, cut);
        }

        Volatile.Write(ref _isRunning, 0);
    }

    /// <summary>Those that wait; the others are watched again from their next wait on.</summary>
    private WaitingResponse[] Waiting()
    {
        lock (_lock)
        {
            _watched.RemoveAll(static response => !(response.IsWatched = response.IsWaiting));
            if (_watched.Count == 0)
            {
                _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }

            return [.. _watched];
        }
    }
}
