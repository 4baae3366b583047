using System.Runtime.CompilerServices;
using CachingService.Tests.Infrastructure;
using CachingService.Tests.Model;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>The counted memory of tags and prefixes is what the garbage collector measures, and goes with the objects that have them.</summary>
[Collection(MemoryCollection.Name)]
public sealed class TagMemoryTests
{
    private const int ObjectCount = 3_000;

    /// <summary>What earlier tests leave behind may be freed meanwhile, and makes a figure smaller. So the largest counts.</summary>
    private const int Measurements = 3;

    private const int TagsOfEach = TagRules.MaxTags;

    /// <summary>Of the keys that share them, or of each key: all eight levels.</summary>
    private const int PrefixesOfEach = KeyPrefixes.MaxLevels;

    private static readonly SharingVerdict s_hour = new(null, TimeSpan.FromHours(1), IsFreshWhileArriving: false);

    private readonly FakeTime _time = new();
    private readonly MemoryLedger _ledger = new();

    [Theory]
    [InlineData(TagsOfEach, true)]
    [InlineData(TagsOfEach, false)]
    [InlineData(0, true)]
    [InlineData(0, false)]
    public void StoredBytes_OfObjectsWithManyTagsOrPrefixes_AreWhatTheCollectorMeasures(int tags, bool isShared)
    {
        double largest = 0;
        for (int count = 0; count < Measurements; count++)
        {
            largest = Math.Max(largest, Measure(tags, isShared));
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{largest:0.000} measured bytes for each counted one");

        Assert.InRange(largest, 0.8, 1.25);
    }

    /// <returns>Measured bytes for each counted one.</returns>
    private double Measure(int tags, bool isShared)
    {
        PurgeEpochs purges = new(_time);
        ObjectStore store = new(maxObjects: ObjectCount, maxBytes: long.MaxValue, maxVariants: 1, _ledger);
        long before = GC.GetTotalMemory(forceFullCollection: true);

        Fill(store, purges, tags, isShared);

        long measured = GC.GetTotalMemory(forceFullCollection: true) - before;
        double ratio = (double)measured / _ledger.StoredBytes;
        int ofEach = tags > 0 ? tags : PrefixesOfEach;
        Assert.Equal((ObjectCount, isShared ? ofEach : ObjectCount * ofEach), (store.Count, purges.TagCount));
        StoreBooks.AreInOrder(store, _ledger);

        purges.PurgeAll(isSoft: false);
        store.StartReclaim();
        while (store.Sweep())
        {
        }

        GC.Collect();
        purges.RemoveUnusedTags(store.Tags.Count);
        long left = GC.GetTotalMemory(forceFullCollection: true) - before;
        Assert.Equal(0, _ledger.StoredBytes);
        Assert.InRange(left, long.MinValue, Math.Max(measured, 0) / 10);
        return ratio;
    }

    /// <summary>On its own, so that no slot of the caller's frame keeps an object.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Fill(ObjectStore store, PurgeEpochs purges, int tagsOfEach, bool isShared)
    {
        for (int number = 0; number < ObjectCount; number++)
        {
            string tags = string.Join(' ', Enumerable.Range(0, tagsOfEach).Select(tag => isShared ? $"shared-{tag}" : $"object-{number}-tag-{tag}"));
            string path = tagsOfEach > 0 ? "" : string.Concat(Enumerable.Range(0, PrefixesOfEach).Select(level => isShared ? $"shared-{level}/" : $"{number}-{level}/"));
            string key = $"{path}{number}";
            ResponseHead head = new(200, [new("Surrogate-Key", tags)], contentLength: 1);
            CachedObject entry = new(key, head, s_hour, _ledger, _time)
            {
                Stamp = PurgeStamp.Of(purges, purges.Begin(), TagRules.Of(head), purges.InternPrefixOf(key)),
            };
            entry.Body.Append(1);
            entry.Body.Finish(BodyEnd.Complete);
            Assert.True(store.Add(entry));
        }
    }
}
