using System.Diagnostics;
using CachingService.Options;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;

namespace CachingService.Logs;

/// <summary>
/// Writes a line for each request that has ended. The thread of the request makes the line and leaves it in a <see cref="LineBuffer"/>; a task
/// writes what has come, at most twenty times a second. Any thread; one per service, which owns it.
/// </summary>
internal sealed class AccessLog : IAsyncDisposable
{
    /// <summary>How long lines are gathered before they are written.</summary>
    private static readonly TimeSpan s_gatherTime = TimeSpan.FromMilliseconds(50);

    /// <summary>Between two warnings of lost lines.</summary>
    private static readonly TimeSpan s_quietTime = TimeSpan.FromMinutes(1);

    private readonly LineBuffer _lines;
    private readonly LogFile _file;
    private readonly AccessLogFormat _format;
    private readonly Func<PeerList> _trusted;
    private readonly ILogger _log;

    /// <summary>Not disposed of, for which it has no need: a request that outlives the drain still tells of itself.</summary>
    private readonly SemaphoreSlim _work = new(0);
    private readonly CancellationTokenSource _end = new();
    private readonly Task _writer;
    private long _written;
    private long _unwritten;
    private long _reported;
    private long? _reportedAt;
    private string? _failure;
    private volatile bool _mustReopen;

    public AccessLog(LogFile file, AccessLogOptions options, Func<PeerList> trusted, CacheMetrics metrics, ILogger log)
    {
        (_file, _lines, _format, _trusted, _log) = (file, new(options.QueueBytes), options.Format, trusted, log);
        metrics.TellsOfRequests = true;
        metrics.Count("access_log.lines", "{line}", "Lines written to the access log.", () => Volatile.Read(ref _written));
        metrics.Count("access_log.lines.dropped", "{line}", "Lines lost: the queue was full, or they could not be written.", () => Lost);
        _writer = Task.Run(WriteAsync);
    }

    private long Lost => _lines.Dropped + Volatile.Read(ref _unwritten);

    /// <summary>First in the pipeline.</summary>
    public async Task InvokeAsync(HttpContext context, RequestDelegate next)
    {
        DateTime time = DateTime.UtcNow;
        ServedRequest served = ServedRequest.Begin(context, isTimed: _format == AccessLogFormat.Json);
        bool hasFailed = true;
        try
        {
            await next(context);
            hasFailed = false;
        }
        finally
        {
            AccessLine line = new(context, served, ForwardingFields.ClientOf(context, _trusted()), time, hasFailed);
            if (_lines.Add(line.Format(_format)))
            {
                _work.Release();
            }
        }
    }

    /// <summary>Goes on in the file that has the name now.</summary>
    public void Reopen()
    {
        _mustReopen = true;
        _work.Release();
    }

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _writer;
        _file.Dispose();
        _end.Dispose();
    }

    private async Task WriteAsync()
    {
        while (!_end.IsCancellationRequested)
        {
            await _work.WaitAsync(_end.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (!_mustReopen)
            {
                await Task.Delay(s_gatherTime, _end.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            WriteOnce();
        }

        // What has come since.
        WriteOnce();
    }

    private void WriteOnce()
    {
        ReadOnlyMemory<byte> lines = _lines.Take(out int count);
        try
        {
            if (count > 0)
            {
                _file.Write(lines.Span);
            }

            Volatile.Write(ref _written, _written + count);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            _failure = failure.Message;
            Volatile.Write(ref _unwritten, _unwritten + count);
        }

        // What has come before belongs to the old file.
        if (_mustReopen)
        {
            _mustReopen = false;
            TryReopen();
        }

        long lost = Lost;
        if (lost > _reported && (_reportedAt is not { } last || Stopwatch.GetElapsedTime(last) >= s_quietTime))
        {
            HostLog.LinesLost(_log, lost - _reported, _failure ?? "the queue was full");
            (_reported, _reportedAt, _failure) = (lost, Stopwatch.GetTimestamp(), null);
        }
    }

    private void TryReopen()
    {
        try
        {
            _file.Reopen();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            // No line is lost yet, and the next ones open it.
        }
    }
}
