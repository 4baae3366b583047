using System.IO.Pipelines;
using IoUringCache.Caching.Http;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The response of an end point that is run for everybody: what it writes goes through a pipe to the fill, which takes as much as its readers
/// do. It starts with the first flush, as Kestrel's does. The end point's side is used by one thread at a time, with the fill's beside it.
/// </summary>
internal sealed class EndpointExchange : IHttpResponseFeature, IHttpResponseBodyFeature, IHttpRequestLifetimeFeature
{
    /// <summary>The framework's limit of a timer, some 49 days.</summary>
    private static readonly TimeSpan s_longestTimer = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    private readonly Pipe _pipe = new(new PipeOptions(useSynchronizationContext: false));
    private readonly TaskCompletionSource<ResponseHead> _head = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Stack<(Func<object, Task> Run, object State)> _starting = new();
    private readonly Stack<(Func<object, Task> Run, object State)> _completed = new();
    private readonly HeaderDictionary _fields = [];
    private readonly EndpointBodyWriter _writer;
    private readonly TimeProvider _time;

    /// <summary>Never disposed of, since either side may cancel at any time; its timer stops with the end point.</summary>
    private readonly CancellationTokenSource _aborted;
    private volatile Exception? _failure;
    private volatile bool _isWhole;

    /// <param name="longest">Time until it is aborted.</param>
    /// <param name="time">Clock of that.</param>
    public EndpointExchange(TimeSpan longest, TimeProvider time)
    {
        (_time, _aborted, Headers) = (time, new(longest < s_longestTimer ? longest : s_longestTimer, time), _fields);
        _writer = new(this, _pipe.Writer);
        Stream = _writer.AsStream(leaveOpen: true);
        RequestAborted = _aborted.Token;
        _aborted.Token.UnsafeRegister(static exchange => ((EndpointExchange)exchange!).Fail(new OperationCanceledException("The response was aborted.")), this);
    }

    /// <summary>Completes when the response has started; faults with an <see cref="OriginException"/> if it will not.</summary>
    public Task<ResponseHead> Head => _head.Task;

    /// <summary>The body, for the fill.</summary>
    public PipeReader Reader => _pipe.Reader;

    /// <summary>Why the body is not whole; <see langword="null"/> while nothing is known.</summary>
    public Exception? Failure => _failure;

    public int StatusCode { get; set; } = StatusCodes.Status200OK;

    public string? ReasonPhrase { get; set; }

    public IHeaderDictionary Headers { get; set; }

    public bool HasStarted { get; private set; }

    public Stream Stream { get; }

    public PipeWriter Writer => _writer;

    public CancellationToken RequestAborted { get; set; }

    /// <summary>Of an older interface; the body is <see cref="Stream"/>.</summary>
    Stream IHttpResponseFeature.Body
    {
        get => Stream;
        set => throw new NotSupportedException();
    }

    public void OnStarting(Func<object, Task> callback, object state)
    {
        if (HasStarted)
        {
            throw new InvalidOperationException("OnStarting cannot be set because the response has already started.");
        }

        _starting.Push((callback, state));
    }

    public void OnCompleted(Func<object, Task> callback, object state) => _completed.Push((callback, state));

    public void DisableBuffering()
    {
    }

    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        if (HasStarted)
        {
            return;
        }

        while (_starting.TryPop(out (Func<object, Task> Run, object State) callback))
        {
            await callback.Run(callback.State);
        }

        if (StatusCode is < StatusCodes.Status200OK or > 599)
        {
            throw new InvalidOperationException($"Status {StatusCode} is no final status.");
        }

        HasStarted = true;
        _fields.IsReadOnly = true;
        ResponseHead head = new(
            StatusCode,
            OriginFraming.Select([.. Headers.Select(field => new HeaderField(field.Key, field.Value))], _time.GetUtcNow()),
            Headers.ContentLength);
        _head.TrySetResult(head);
    }

    public Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default) =>
        SendFileFallback.SendFileAsync(Stream, path, offset, count, cancellationToken);

    /// <summary>The response ends here, whatever the end point does after it.</summary>
    /// <inheritdoc cref="EndAsync"/>
    public async Task CompleteAsync()
    {
        await EndAsync();
        await _pipe.Writer.CompleteAsync();
    }

    /// <summary>The end point cuts its response, or its time is over.</summary>
    public void Abort() => _aborted.Cancel();

    /// <summary>The fill is done with it.</summary>
    /// <param name="isWhole">Whether it has all of the body; the end point may then finish what it does besides.</param>
    public void Leave(bool isWhole)
    {
        Reader.Complete();
        if (!isWhole)
        {
            _aborted.Cancel();
        }
    }

    /// <summary>The end point has returned.</summary>
    /// <exception cref="InvalidOperationException">It has written less than it announced.</exception>
    /// <exception cref="OperationCanceledException">It was aborted, and has perhaps left off because of that.</exception>
    public async Task EndAsync()
    {
        if (_isWhole)
        {
            return;
        }

        _aborted.Token.ThrowIfCancellationRequested();
        bool hasBody = StatusCode is not (StatusCodes.Status204NoContent or StatusCodes.Status205ResetContent or StatusCodes.Status304NotModified);
        if (!HasStarted && hasBody)
        {
            Headers.ContentLength ??= _writer.WrittenBytes;
        }

        if (hasBody && _writer.WrittenBytes < Headers.ContentLength)
        {
            throw new InvalidOperationException(
                $"Response Content-Length mismatch: too few bytes written ({_writer.WrittenBytes} of {Headers.ContentLength}).");
        }

        await StartAsync();
        await _pipe.Writer.FlushAsync();
        _isWhole = true;
    }

    /// <summary>The end point has thrown: before the start that is the answer, and after it a visible cut.</summary>
    public void Fail(Exception failure)
    {
        if (_isWhole)
        {
            return;
        }

        _failure ??= failure;
        if (_head.TrySetException(failure as OriginException ?? OriginException.EndpointFailed(failure)))
        {
            // The fill may have left, and an exception that is never looked at is reported as unobserved.
            _ = _head.Task.Exception;
        }

        _pipe.Reader.CancelPendingRead();
    }

    /// <summary>Nothing follows. Runs what wanted to know of the end, the last first, and all of it whatever fails.</summary>
    /// <returns>Why the first one failed that did.</returns>
    public async Task<Exception?> CloseAsync()
    {
        _aborted.CancelAfter(Timeout.InfiniteTimeSpan);
        await _pipe.Writer.CompleteAsync();
        Exception? first = null;
        while (_completed.TryPop(out (Func<object, Task> Run, object State) callback))
        {
            try
            {
                await callback.Run(callback.State);
            }
            catch (Exception failure)
            {
                first ??= failure;
            }
        }

        return first;
    }
}
