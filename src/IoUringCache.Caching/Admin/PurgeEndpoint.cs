using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// <c>POST /purge</c> with one of <c>key</c>, <c>tag</c> and <c>all</c>, and perhaps <c>soft</c>. Where there are other nodes it is answered when
/// their log has it; with <c>wait</c>, when they have applied it. Any thread.
/// </summary>
internal static class PurgeEndpoint
{
    private static readonly TimeSpan s_longestWait = TimeSpan.FromMinutes(1);

    /// <summary>How long the log may take. Who waits for the nodes longer than that waits as long for the log.</summary>
    private static readonly TimeSpan s_logTime = TimeSpan.FromSeconds(5);

    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static async Task AnswerAsync(HttpContext context, CacheEngine cache)
    {
        AdminQuery query = new(context.Request.QueryString, "key", "tag", "all", "soft", "wait");
        bool isSoft = query.Flag("soft");
        bool isForAll = query.Flag("all");
        TimeSpan wait = query.Duration("wait", s_longestWait);
        if ((query.Has("key") ? 1 : 0) + (query.Has("tag") ? 1 : 0) + (isForAll ? 1 : 0) != 1)
        {
            throw new FormatException("parameter 'key', 'tag' or 'all': expected exactly one of them");
        }

        (string what, string name, Purge purge) = isForAll ? ("all", "", Purge.OfAll(isSoft))
            : query.Has("key") ? ("key", query.Key("key"), Purge.OfKey(query.Key("key"), isSoft))
            : ("tag", TagText.Describe(query.Tag("tag")), Purge.OfTag(query.Tag("tag"), isSoft));
        long begun = cache.Time.GetTimestamp();
        PurgeReport report = cache.Purger.Purge(purge, out Task<long>? logged);

        // Before the answer: also a later process must not find it on the disk.
        await cache.Purger.SettledAsync();
        Spread? spread = logged is null ? null : await SpreadAsync(cache, logged, wait, begun);
        context.Response.StatusCode = spread switch
        {
            { Number: null } => StatusCodes.Status503ServiceUnavailable,
            { Missing.Count: > 0 } => StatusCodes.Status504GatewayTimeout,
            _ => StatusCodes.Status200OK,
        };
        JsonAnswer.Write(context, json =>
        {
            json.WriteString("purged", what);
            if (!isForAll)
            {
                json.WriteString(what, name);
            }

            json.WriteBoolean("soft", isSoft);
            json.WriteNumber("objects", report.Objects);
            if (report.DiskObjects is { } onDisk)
            {
                json.WriteNumber("diskObjects", onDisk);
            }

            json.WriteNumber("fills", report.Fills);
            if (spread is null)
            {
                return;
            }

            json.WriteOptional("sequence", spread.Number);
            if (spread.Number is null)
            {
                json.WriteString("error", "applied on this node; the others are told as soon as the log of purges can be reached");
            }

            if (spread.Missing is { } missing)
            {
                json.WriteStartArray("missing");
                foreach (string node in missing)
                {
                    json.WriteStringValue(node);
                }

                json.WriteEndArray();
            }
        });
    }

    private static async Task<Spread> SpreadAsync(CacheEngine cache, Task<long> logged, TimeSpan wait, long begun)
    {
        try
        {
            long number = await logged.WaitAsync(wait > s_logTime ? wait : s_logTime, cache.Time);
            return wait == TimeSpan.Zero
                ? new(number, null)
                : new(number, await cache.Purger.Log!.WaitUntilAppliedAsync(number, wait - cache.Time.GetElapsedTime(begun)));
        }
        catch (TimeoutException)
        {
            return new(null, null);
        }
    }

    /// <summary>Whom else a purge has reached.</summary>
    /// <param name="Number">In the log; <see langword="null"/> while it is not there.</param>
    /// <param name="Missing">Nodes that have not applied it; <see langword="null"/> where nobody has asked.</param>
    private sealed record Spread(long? Number, IReadOnlyList<string>? Missing);
}
