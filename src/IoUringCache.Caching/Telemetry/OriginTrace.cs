using System.Diagnostics;
using System.Globalization;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// The span of one fetch or pass, from its start to the last byte, where a listener wants it; and what the origin is told of the trace. A child of the
/// request that caused it, with a link to each request that joined it. Any thread; owned by the fetch or the pass.
/// </summary>
internal sealed class OriginTrace
{
    private readonly Activity? _span;
    private readonly TraceFields? _client;
    private readonly bool _isTold;
    private int _sent;

    private OriginTrace(Activity? span, TraceFields? client, bool isTold) => (_span, _client, _isTold) = (span, client, isTold);

    /// <summary>What the origin gets: the span as the parent of its own, else what the client has sent. <see langword="null"/>: nothing of ours.</summary>
    public TraceFields? Fields =>
        !_isTold ? null
        : _span is { IdFormat: ActivityIdFormat.W3C, Id: { } parent } ? new(parent, _span.TraceStateString)
        : _client;

    /// <summary>For a fetch that the request at work on this thread causes.</summary>
    /// <param name="isTold">Whether the origin is told of the trace.</param>
    /// <returns><see langword="null"/> where no listener wants the span and the origin is told nothing.</returns>
    public static OriginTrace? OfFetch(HttpRequest client, string key, bool isInProcess, bool isTold)
    {
        TraceFields? theirs = isTold || CacheSpans.AreWanted ? TraceFields.Of(client.Headers) : null;
        Activity? span = CacheSpans.CreateForOrigin("cache.fetch", HttpMethods.Get, key, isInProcess, theirs);
        return span is not null || (isTold && theirs is not null) ? new(span, theirs, isTold) : null;
    }

    /// <summary>For a pass of the request at work on this thread. The client's own fields are among those of the pass.</summary>
    /// <param name="isTold">Whether the origin is told of the span.</param>
    /// <returns><see langword="null"/> where no listener wants the span.</returns>
    public static OriginTrace? OfPass(HttpRequest client, string key, bool isInProcess, bool isTold) =>
        CacheSpans.AreWanted
        && CacheSpans.CreateForOrigin("cache.pass", client.Method, key, isInProcess, TraceFields.Of(client.Headers)) is { } span
            ? new(span, client: null, isTold)
            : null;

    /// <summary>The request that is at work on this thread waits for the fetch.</summary>
    /// <param name="isLeader">Whether it has caused it, and is its parent already.</param>
    public void LinkUnless(bool isLeader)
    {
        if (!isLeader && Activity.Current is { } request)
        {
            _span?.AddLink(new(request.Context));
        }
    }

    /// <summary>A span that has waited for this one links to it.</summary>
    public void LinkFrom(Activity? waiter)
    {
        if (waiter is not null && _span is { SpanId: var id } && id != default)
        {
            waiter.AddLink(new(_span.Context));
        }
    }

    /// <summary>Begins, and is the current span of all that the caller calls.</summary>
    public void Start() => _span?.Start();

    /// <summary>An address of the origin is asked, not necessarily the first.</summary>
    /// <param name="url">Of it, without a trailing slash.</param>
    /// <param name="target">Path and query behind that.</param>
    public void Sending(string url, string target)
    {
        _sent++;
        if (_span is { IsAllDataRequested: true })
        {
            Uri address = new(url);
            _span.SetTag("server.address", address.IdnHost).SetTag("server.port", address.Port);
            _span.SetTag("url.path", $"{address.AbsolutePath.TrimEnd('/')}/{target.Split('?')[0]}");
            if (_sent > 1)
            {
                _span.SetTag("http.request.resend_count", _sent - 1);
            }
        }
    }

    /// <summary>The origin has answered. What it says of a request is no error of the fetch or pass; a failure of its own is.</summary>
    public void Answered(int status)
    {
        _span?.SetTag("http.response.status_code", status);
        if (status >= StatusCodes.Status500InternalServerError)
        {
            Fail(status.ToString(CultureInfo.InvariantCulture));
        }
    }

    /// <summary>There is no response, or not all of it.</summary>
    /// <param name="error">Why, as Cache-Status has it.</param>
    public void Fail(string error) => _span?.SetTag("error.type", error).SetStatus(ActivityStatusCode.Error);

    /// <param name="forward">Why the origin was asked, as Cache-Status has it.</param>
    /// <param name="detail">The same in more words, where Cache-Status has them.</param>
    /// <param name="bytes">Of the body that have come, where they are counted.</param>
    public void End(string forward, string? detail = null, long? bytes = null)
    {
        if (_span is not null)
        {
            _span.SetTag("cache.forward", forward).SetTag("cache.detail", detail).SetTag("http.response.body.size", bytes);
            _span.Dispose();
        }
    }
}
