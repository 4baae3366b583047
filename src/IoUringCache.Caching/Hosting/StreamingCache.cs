using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Hosting;

/// <summary>The cache of an application, for its own code. Any thread; one per application.</summary>
internal sealed class StreamingCache(CacheEngine engine) : IStreamingCache
{
    public ValueTask<int> PurgeAsync(string key, bool soft = false)
    {
        ArgumentNullException.ThrowIfNull(key);
        return SettleAsync(engine.Purger.Purge(Purge.OfKey(key, soft)));
    }

    public ValueTask<int> PurgeTagAsync(string tag, bool soft = false)
    {
        ArgumentNullException.ThrowIfNull(tag);
        return SettleAsync(engine.Purger.Purge(Purge.OfTag(tag, soft)));
    }

    public ValueTask<int> PurgePrefixAsync(string prefix, bool soft = false)
    {
        ArgumentNullException.ThrowIfNull(prefix);
        return KeyPrefixes.IsPrefix(prefix)
            ? SettleAsync(engine.Purger.Purge(Purge.OfPrefix(prefix, soft)))
            : throw new ArgumentException(KeyPrefixes.Expected, nameof(prefix));
    }

    public ValueTask<int> PurgeAllAsync(bool soft = false) => SettleAsync(engine.Purger.Purge(Purge.OfAll(soft)));

    public IReadOnlyList<StreamingCacheEntry> Find(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        return
        [
            .. engine.Store.FindAll(key).Select(stored => new StreamingCacheEntry(
                key, stored.Head.StatusCode, stored.Body.Length, stored.Age, stored.TimeToLive)),
        ];
    }

    private async ValueTask<int> SettleAsync(PurgeReport report)
    {
        await engine.Purger.SettledAsync();
        return report.Objects;
    }
}
