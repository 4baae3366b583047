using System.Diagnostics;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// The span of one fetch, where somebody listens: from its start to the last byte, a child of the request that caused it, with a link to each
/// request that joined it. Any thread; one per fetch.
/// </summary>
internal sealed class FetchTrace
{
    private const string Name = "cache.fetch";

    private static readonly ActivitySource s_source = new(CacheMetrics.MeterName);

    private readonly Activity _span;

    private FetchTrace(Activity span) => _span = span;

    /// <summary>For the request that is at work on this thread; <see langword="null"/> where nobody listens.</summary>
    /// <param name="key">Of the object.</param>
    /// <param name="forward">Why the origin is asked, as Cache-Status has it.</param>
    public static FetchTrace? Create(string key, string forward) =>
        s_source.HasListeners()
        && s_source.CreateActivity(
            Name, ActivityKind.Internal, Activity.Current?.Context ?? default, [new("cache.key", key), new("cache.forward", forward)]) is { } span
            ? new(span)
            : null;

    /// <summary>The request that is at work on this thread waits for the fetch.</summary>
    /// <param name="isLeader">Whether it has caused it, and is its parent already.</param>
    public void LinkUnless(bool isLeader)
    {
        if (!isLeader && Activity.Current is { } request)
        {
            _span.AddLink(new(request.Context));
        }
    }

    /// <summary>Begins, and is the current span of whatever the caller calls.</summary>
    public void Start() => _span.Start();

    /// <summary>There is no response, or not all of it.</summary>
    /// <param name="error">Why, as Cache-Status has it.</param>
    public void Fail(string error) => _span.SetTag("error.type", error).SetStatus(ActivityStatusCode.Error);

    /// <summary>Ends it.</summary>
    /// <param name="status">Of the response that is shared; <see langword="null"/> for none.</param>
    /// <param name="bytes">Of its body that have come.</param>
    public void End(int? status, long bytes)
    {
        if (status is { } known)
        {
            _span.SetTag("http.response.status_code", known).SetTag("http.response.body.size", bytes);
        }

        _span.Dispose();
    }
}
