using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Admin;

/// <summary><c>POST /purge</c> with one of <c>key</c>, <c>tag</c> and <c>all</c>, and perhaps <c>soft</c>. Any thread.</summary>
internal static class PurgeEndpoint
{
    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static async Task AnswerAsync(HttpContext context, CacheEngine cache)
    {
        AdminQuery query = new(context.Request.QueryString, "key", "tag", "all", "soft");
        bool isSoft = query.Flag("soft");
        bool isForAll = query.Flag("all");
        if ((query.Has("key") ? 1 : 0) + (query.Has("tag") ? 1 : 0) + (isForAll ? 1 : 0) != 1)
        {
            throw new FormatException("parameter 'key', 'tag' or 'all': expected exactly one of them");
        }

        (string what, string name, PurgeReport report) = isForAll ? ("all", "", cache.Purger.PurgeAll(isSoft))
            : query.Has("key") ? ("key", query.Key("key"), cache.Purger.PurgeKey(query.Key("key"), isSoft))
            : ("tag", TagText.Describe(query.Tag("tag")), cache.Purger.PurgeTag(query.Tag("tag"), isSoft));

        // Before the answer: also a later process must not find it on the disk.
        await cache.Purger.SettledAsync();
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
        });
    }
}
