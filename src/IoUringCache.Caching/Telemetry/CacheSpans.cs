using System.Diagnostics;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Telemetry;

/// <summary>The source of the cache's spans. Without a listener there are none, and a request pays for one look. Any thread.</summary>
internal static class CacheSpans
{
    private static readonly ActivitySource s_source = new(CacheMetrics.MeterName);

    public static bool AreWanted => s_source.HasListeners();

    /// <summary>
    /// A span of a request to the origin, not started: a child of the request that is at work on this thread, or of the client's span where
    /// the server has made none. <see langword="null"/> where no listener wants it.
    /// </summary>
    /// <param name="isInProcess">Whether an end point of this process is asked.</param>
    public static Activity? CreateForOrigin(string name, string method, string key, bool isInProcess, TraceFields? client)
    {
        if (!AreWanted)
        {
            return null;
        }

        ActivityContext parent = Activity.Current?.Context is { } current && current != default ? current : client?.ToContext() ?? default;
        return s_source.CreateActivity(
            name,
            isInProcess ? ActivityKind.Internal : ActivityKind.Client,
            parent,
            [new("http.request.method", method), new("cache.key", key)]);
    }

    /// <summary>The wait of a request that joined a fetch, for its headers; begins now.</summary>
    public static Activity? StartWait() => s_source.StartActivity("cache.wait");

    /// <summary>Says on the server's span of the request that is at work on this thread what the cache did.</summary>
    /// <param name="route">Prefix of the route of its key; empty where no route has it.</param>
    public static void Tell(RequestOutcome outcome, string route)
    {
        if (AreWanted && Activity.Current is { IsAllDataRequested: true } request)
        {
            request.SetTag("cache.outcome", RequestDurations.LabelOf(outcome));
            if (route.Length > 0)
            {
                request.SetTag("cache.route", route);
            }
        }
    }
}
