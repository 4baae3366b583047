using System.Collections;
using System.Collections.Concurrent;
using System.Reflection;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Model;

/// <summary>Compares the books of a store that nobody changes at the moment: index, eviction queue, order of expiry, count and ledger.</summary>
internal static class StoreBooks
{
    public static void AreInOrder(ObjectStore store, MemoryLedger ledger)
    {
        ConcurrentDictionary<string, KeyEntry> index = Field<ConcurrentDictionary<string, KeyEntry>>(store, "_index");
        List<CachedObject> all = [.. index.Values.SelectMany(entry => entry.All)];
        EvictionQueue<CachedObject> queue = Field<EvictionQueue<CachedObject>>(store, "_queue");
        WeighedQueue<CachedObject>[] queues =
            [Field<WeighedQueue<CachedObject>>(queue, "_small"), Field<WeighedQueue<CachedObject>>(queue, "_main")];
        ExpiryOrder expiries = Field<ExpiryOrder>(store, "_expiries");
        long weight = all.Sum(entry => entry.Weight);
        HashSet<Tag> tags = [];
        foreach (CachedObject entry in all)
        {
            foreach (Tag tag in entry.Stamp.Tags)
            {
                tags.Add(tag);
            }
        }

        long tagBytes = tags.Sum(static tag => (long)tag.Bytes);

        Assert.All(all, entry => Assert.Contains(queues, listed => listed.Has(entry)));
        Assert.All(index, pair => Assert.All(pair.Value.All, entry => Assert.Equal(pair.Key, entry.Key)));
        Assert.Equal(all.Count, all.DistinctBy(entry => (entry.Key, entry.VariantKey)).Count());
        Assert.Equal(
            (all.Count, all.Count, all.Count, all.Count),
            (store.Count, queues.Sum(listed => listed.Count), CountOf(expiries, "_order"), CountOf(expiries, "_numbers")));
        Assert.Equal(
            store.Inserted,
            store.Count + store.Evictions + store.Expired + store.Purged + store.VariantEvictions + store.Replaced + store.Removed);
        Assert.Equal(tags.Count, tags.DistinctBy(static tag => (tag.Name, tag.IsPrefix)).Count());
        Assert.Equal((tags.Count, tagBytes), (store.Tags.Count, store.Tags.Bytes));
        Assert.Equal((weight + tagBytes, weight), (ledger.StoredBytes, queues.Sum(listed => listed.Bytes)));
    }

    private static int CountOf(ExpiryOrder expiries, string name) => Field<IEnumerable>(expiries, name).Cast<object>().Count();

    private static T Field<T>(object owner, string name) =>
        (T)owner.GetType().GetField(name, BindingFlags.Instance | BindingFlags.NonPublic)!.GetValue(owner)!;
}
