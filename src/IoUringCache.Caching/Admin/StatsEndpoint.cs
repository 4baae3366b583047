using System.Text.Json;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// <c>GET /stats</c>: all figures of <c>/metrics</c> as one flat object, the totals of those by reason and kind, and how long requests took. Cumulative since the start: who wants a
/// rate asks twice and divides by the difference of the <c>time</c> members. Any thread.
/// </summary>
internal static class StatsEndpoint
{
    private static readonly (string Name, double Share)[] s_quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static void Answer(HttpContext context, CacheEngine cache, bool isDraining)
    {
        _ = new AdminQuery(context.Request.QueryString);
        JsonAnswer.Write(context, json =>
        {
            json.WriteNumber("time", cache.Time.GetUtcNow().ToUnixTimeMilliseconds() / 1000.0);
            json.WriteBoolean("draining", isDraining);
            json.WriteStartObject("requests");
            foreach (RequestOutcome outcome in Enum.GetValues<RequestOutcome>())
            {
                WriteDurations(json, outcome, cache.Metrics.Durations.Of(outcome));
            }

            json.WriteEndObject();
            json.WriteStartObject("metrics");
            foreach ((string name, double value) in cache.Collector.Read())
            {
                json.WriteNumber(name, value);
            }

            json.WriteNumber("cache_refusals_total", cache.Metrics.Refusals);
            json.WriteNumber("cache_readers_cut_total", cache.Metrics.CutReaders);
            json.WriteNumber("cache_purges_total", cache.Metrics.Purges.Purges);
            json.WriteNumber("cache_purges_objects_total", cache.Metrics.Purges.Objects);
            json.WriteEndObject();
        });
    }

    private static void WriteDurations(Utf8JsonWriter json, RequestOutcome outcome, LatencySnapshot durations)
    {
        json.WriteStartObject(RequestDurations.LabelOf(outcome));
        json.WriteNumber("count", durations.Count);
        json.WriteSeconds("sum", durations.Sum);
        foreach ((string name, double share) in s_quantiles)
        {
            json.WriteSeconds(name, durations.Quantile(share));
        }

        json.WriteEndObject();
    }
}
