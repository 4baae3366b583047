using System.Diagnostics.Metrics;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Engine;

/// <summary>What the meter shows of a cache's parts, besides the counters of its requests. Called once, as the cache is made.</summary>
internal static class CacheGauges
{
    public static void Add(CacheEngine cache)
    {
        CacheMetrics metrics = cache.Metrics;
        metrics.Gauge("cache.fills.active", "{fill}", "Fills in flight.", () => cache.Fills.Queue.Taken);
        metrics.Gauge("cache.fills.queued", "{fill}", "Fills that wait for a place.", () => cache.Fills.Queue.Waiting);
        metrics.Count("cache.fills.waited", "{fill}", "Fills that have waited for a place, by how that ended: place, abandoned, or the limit that was reached.",
            cache.Fills.Queue.Ends.Measure);
        metrics.Gauge("cache.objects", "{object}", "Objects stored.", () => cache.Store.Count);
        metrics.Gauge("cache.stored", "By", "Memory of stored objects.", () => cache.Ledger.StoredBytes);
        metrics.Gauge("cache.in_flight", "By", "Memory of bodies being received.", () => cache.Ledger.InFlightBytes);
        metrics.Gauge("cache.pinned", "By", "Memory that only readers keep.", () => cache.Ledger.PinnedBytes);
        metrics.Gauge("cache.files.kept", "{file}", "Small files in memory, and names of neighbours that are not there.", () => cache.Kept.Count);
        metrics.Gauge("cache.files.memory", "By", "Memory of small files that are kept.", () => cache.Kept.Bytes);
        metrics.Gauge("cache.waiters", "{request}", "Requests that wait for the headers of a fill.", () => cache.Waiting.Count);
        metrics.Gauge("cache.overload.step", "{step}", "What is shed: 1 new fills, 2 new waiters, 3 new connections, 4 half of all.",
            () => (int)cache.Load.Highest);
        metrics.Gauge("cache.overload.delay", "s", "How late the latest of the event loops was.",
            () => cache.Load.LongestDelay.TotalSeconds);
        metrics.Count("cache.overload.refusals", "{request}", "Answered 503 because an event loop was too late.", () => cache.Load.Refusals);
        metrics.Gauge("cache.markers", "{key}", "Keys remembered because their answers cannot be kept.", () => cache.Markers.Count);
        metrics.Count("cache.markers.found", "{request}", "Went to the origin at once because of a marker.", () => cache.Markers.Found);
        metrics.Count("cache.inserted", "{object}", "Objects put into the store, confirmed ones anew.", () => cache.Store.Inserted);
        metrics.Count("cache.replaced", "{object}", "Objects whose place a newer one took, or the same one, confirmed.", () => cache.Store.Replaced);
        metrics.Count("cache.removed", "{object}", "Objects removed because of their key: purged, invalidated, or changed at the origin.",
            () => cache.Store.Removed);
        metrics.Count("cache.evictions", "{object}", "Objects evicted to make room.", () => cache.Store.Evictions);
        metrics.Count("cache.expired", "{object}", "Objects removed because their use had ended.", () => cache.Store.Expired);
        metrics.Count("cache.purged", "{object}", "Objects removed because everything, a prefix of their key or a tag of theirs was purged.", () => cache.Store.Purged);
        metrics.Gauge("cache.tags", "{tag}", "Tags and prefixes of keys in use, and some that were.", () => cache.Purges.TagCount);
        metrics.Gauge("cache.tags.memory", "By", "Memory of the tags and prefixes of stored objects, a part of cache.stored.", () => cache.Store.Tags.Bytes);
        metrics.Count("cache.variants.evicted", "{object}", "Objects dropped because their key had too many variants.", () => cache.Store.VariantEvictions);
        metrics.Count("cache.origin.replica.failures", "{failure}", "Failures of each address of the origin, probes included.",
            () => cache.Replicas.Select(replica => Tag(replica, replica.Circuit.Failures)));
        metrics.Gauge("cache.origin.replica.ejected", "{origin}", "1 for an address of the origin whose circuit is open or half-open.",
            () => cache.Replicas.Select(replica => Tag(replica, replica.Circuit.IsClosed ? 0 : 1)));
        metrics.Gauge("cache.origin.replica.clock_offset", "s", "How far our clock is ahead of the Date of each address of the origin.",
            () => cache.Replicas.Select(replica => Tag(replica, replica.ClockOffset)));

        if (cache.Disk is { } disk)
        {
            metrics.Gauge("cache.disk.objects", "{object}", "Objects on the disk, or on their way there.", () => disk.Count);
            metrics.Gauge("cache.disk.waiting", "By", "Memory of evicted objects that wait to be written.", () => disk.WaitingBytes);
            metrics.Gauge("cache.disk.tags.memory", "By", "Memory of the tags and prefixes of objects on the disk.", () => disk.TagBytes);
            metrics.Count("cache.disk.promotions", "{object}", "Objects that came back from the disk.", () => disk.Metrics.Promotions);
            metrics.Count("cache.disk.demotions", "{object}", "Evicted objects that were written.", () => disk.Metrics.Demotions);
            metrics.Count("cache.disk.read", "By", "Bytes of bodies read.", () => disk.Metrics.ReadBytes);
            metrics.Count("cache.disk.written", "By", "Bytes written, padding and headers included.", () => disk.Metrics.WrittenBytes);
            metrics.Count(
                "cache.disk.drops", "{object}", "Objects that are not on the disk any more, or not at all, by reason.", () => disk.Metrics.Drops);
        }

        metrics.Gauge("cache.limit", "By", "Limits of cache.stored, cache.in_flight, cache.pinned, and of the files of the disk.", () => LimitsOfBytes(cache));
        metrics.Gauge("cache.limit.items", "{item}", "Limits of objects, and of requests at a time.", () => LimitsOfCounts(cache));
        metrics.Gauge("cache.build_info", "", "1; the labels say which release it is.", static () =>
            [new Measurement<long>(1, new KeyValuePair<string, object?>("version", typeof(CacheGauges).Assembly.GetName().Version!.ToString(3)))]);
        ProcessGauges.Add(metrics);

        static Measurement<long> Tag(OriginReplica replica, long value) =>
            new(value, new KeyValuePair<string, object?>("origin", replica.Url));
    }

    private static IEnumerable<Measurement<long>> LimitsOfBytes(CacheEngine cache)
    {
        CacheOptions now = cache.Options;
        yield return Of("stored", now.MaxBytes);
        yield return Of("in_flight", now.MaxInFlightBytes);
        yield return Of("pinned", now.MaxPinnedBytes);
        if (cache.DiskBytes is { } disk)
        {
            yield return Of("disk", disk);
        }
    }

    private static IEnumerable<Measurement<long>> LimitsOfCounts(CacheEngine cache)
    {
        CacheOptions now = cache.Options;
        return
        [
            Of("objects", now.MaxObjects), Of("fills", now.MaxFills), Of("passes", now.MaxPasses), Of("upgrades", now.MaxUpgrades),
            Of("waiters", now.MaxWaiters),
        ];
    }

    private static Measurement<long> Of(string kind, long value) => new(value, new KeyValuePair<string, object?>("kind", kind));
}
