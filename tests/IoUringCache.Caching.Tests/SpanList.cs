using System.Collections.Concurrent;
using System.Diagnostics;

namespace IoUringCache.Caching.Tests;

/// <summary>Spans of this process, of requests and of the cache, as they end: a test tells its own by their traces or keys.</summary>
internal sealed class SpanList : IDisposable
{
    private readonly ConcurrentQueue<Activity> _ended = new();
    private readonly ActivityListener _listener;

    /// <param name="follows">Whether a span is recorded only if its parent is; else all are.</param>
    public SpanList(bool follows = false)
    {
        _listener = new()
        {
            ShouldListenTo = static source => source.Name is "IoUringCache.Caching" or "Microsoft.AspNetCore",
            Sample = (ref options) => follows && !options.Parent.TraceFlags.HasFlag(ActivityTraceFlags.Recorded)
                ? ActivitySamplingResult.PropagationData
                : ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = _ended.Enqueue,
        };
        ActivitySource.AddActivityListener(_listener);
    }

    /// <summary>Those with this name and the end of this key.</summary>
    public List<Activity> Named(string name, string path) =>
        [.. _ended.Where(span => span.OperationName == name && $"{span.GetTagItem("cache.key")}".EndsWith(path, StringComparison.Ordinal))];

    /// <summary>Those with this name that belong to a trace.</summary>
    public List<Activity> Of(string trace, string name) =>
        [.. _ended.Where(span => span.OperationName == name && span.TraceId.ToHexString() == trace)];

    /// <summary>The one with this name that belongs to a trace; waits for its end.</summary>
    public async Task<Activity> OneAsync(string trace, string name)
    {
        await Eventually.TrueAsync(() => Of(trace, name).Count > 0, $"{name} has ended");
        return Assert.Single(Of(trace, name));
    }

    public void Dispose() => _listener.Dispose();
}
