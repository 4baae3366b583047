using System.Text.Json;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Serving;

namespace IoUringCache.Caching.Admin;

/// <summary><c>GET /fills</c>: what is being received, the oldest first. Any thread.</summary>
internal static class FillsEndpoint
{
    private const int DefaultLimit = 100;
    private const int MostLimit = 10_000;

    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static void Answer(HttpContext context, CacheEngine cache)
    {
        int limit = new AdminQuery(context.Request.QueryString, "limit").Count("limit", DefaultLimit, 0, MostLimit);
        List<FillReport> fills = cache.Fills.Describe();
        JsonAnswer.Write(context, json =>
        {
            json.WriteNumber("count", fills.Count);
            json.WriteStartArray("fills");
            foreach (FillReport fill in fills.OrderByDescending(fill => fill.Age).Take(limit))
            {
                json.WriteStartObject();
                json.WriteString("key", fill.Key);
                WriteFields(json, fill);
                json.WriteEndObject();
            }

            json.WriteEndArray();
        });
    }

    /// <summary>All but the key.</summary>
    public static void WriteFields(Utf8JsonWriter json, FillReport fill)
    {
        json.WriteString("state", JsonNamingPolicy.CamelCase.ConvertName(fill.State.ToString()));
        json.WriteString("forward", fill.Forward);
        json.WriteSeconds("age", fill.Age);
        json.WriteOptional("status", fill.Received?.Head.StatusCode);
        json.WriteOptional("receivedBytes", fill.Received?.Body.Length);
        json.WriteOptional("length", fill.Received?.KnownLength);
        json.WriteNumber("readers", fill.Readers);

        // In bytes of memory, chunk frames of our own included where the body lies in them.
        json.WriteOptional("slowestLag", fill.Received?.Body.StoredLength - fill.Slowest);
        json.WriteBoolean("outdated", fill.IsOutdated);
    }
}
