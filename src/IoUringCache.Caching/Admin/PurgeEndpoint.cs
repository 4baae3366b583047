using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// <c>POST /purge</c> with one of <c>key</c>, <c>prefix</c>, <c>tag</c> and <c>all</c>, and perhaps <c>soft</c> and <c>wait</c>. Any thread.
/// </summary>
internal static class PurgeEndpoint
{
    private static readonly string[] s_named = ["key", "prefix", "tag"];
    private static readonly TimeSpan s_longestWait = TimeSpan.FromMinutes(1);

    /// <exception cref="FormatException">A parameter is wrong.</exception>
    public static Task AnswerAsync(HttpContext context, CacheEngine cache)
    {
        AdminQuery query = new(context.Request.QueryString, [.. s_named, "all", "soft", "wait"]);
        bool isSoft = query.Flag("soft");
        bool isForAll = query.Flag("all");
        TimeSpan wait = query.Duration("wait", s_longestWait);
        if ((isForAll ? 1 : 0) + s_named.Count(query.Has) != 1)
        {
            throw new FormatException("parameter 'key', 'prefix', 'tag' or 'all': expected exactly one of them");
        }

        Purge purge = isForAll ? Purge.OfAll(isSoft)
            : query.Has("key") ? Purge.OfKey(query.Key("key"), isSoft)
            : query.Has("prefix") ? Purge.OfPrefix(query.Prefix("prefix"), isSoft)
            : Purge.OfTag(query.Tag("tag"), isSoft);
        return cache.PurgeAnswers.SendAsync(context, [purge], wait);
    }
}
