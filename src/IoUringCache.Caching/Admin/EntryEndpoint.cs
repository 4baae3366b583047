using System.Text.Json;
using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Admin;

/// <summary><c>GET /entry?key=</c>: all that is known of one key. Any thread.</summary>
internal static class EntryEndpoint
{
    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static void Answer(HttpContext context, CacheEngine cache)
    {
        string key = new AdminQuery(context.Request.QueryString, "key").Key("key");
        JsonAnswer.Write(context, json =>
        {
            json.WriteString("key", key);
            json.WriteString("marker", cache.Markers.Look(key));
            json.WriteStartArray("variants");
            Array.ForEach(cache.Store.FindAll(key), stored => WriteVariant(json, stored));
            json.WriteEndArray();
            json.WriteStartArray("fills");
            foreach (FillReport fill in cache.Fills.Describe(key))
            {
                json.WriteStartObject();
                FillsEndpoint.WriteFields(json, fill);
                json.WriteEndObject();
            }

            json.WriteEndArray();
        });
    }

    private static void WriteVariant(Utf8JsonWriter json, CachedObject stored)
    {
        json.WriteStartObject();
        json.WriteString("variant", stored.VariantKey);
        json.WriteNumber("status", stored.Head.StatusCode);
        json.WriteSeconds("age", stored.Age);
        json.WriteSeconds("ttl", stored.TimeToLive);
        json.WriteBoolean("fresh", stored.IsFresh);
        json.WriteNumber("bodyBytes", stored.Body.Length);
        json.WriteNumber("memoryBytes", stored.Weight);

        // As the eviction queue counts them: up to three, and fewer the longer it is not read.
        json.WriteNumber("recentReads", stored.Reads);
        json.WriteString("etag", stored.Head[HeaderNames.ETag].ToString());
        json.WriteString("lastModified", stored.Head[HeaderNames.LastModified].ToString());
        json.WriteStartArray("tags");
        foreach (string tag in stored.Stamp.TagNames.Where(static tag => !TagRules.IsOfSite(tag)))
        {
            json.WriteStringValue(TagText.Describe(tag));
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }
}
