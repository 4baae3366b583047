using CachingService.Tests.Infrastructure;
using CachingService.Tests.Model;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Tags count in the store's limit, each once, from the first object that has it to the last.</summary>
public sealed class TagAccountTests
{
    private readonly FakeTime _time = new();
    private readonly MemoryLedger _ledger = new();
    private readonly PurgeEpochs _purges;

    public TagAccountTests() => _purges = new(_time);

    [Fact]
    public void Tag_OfSeveralObjects_IsCountedOnceUntilTheLastGoes()
    {
        ObjectStore store = CreateStore(maxBytes: 1 << 20);
        long tagBytes = new Tag("shared").Bytes;
        (CachedObject first, CachedObject second) = (Make("a", "shared"), Make("b", "shared"));
        long weight = ObjectStore.WeightOf(first) + ObjectStore.WeightOf(second);

        store.Add(first);
        store.Add(second);
        Assert.Equal(weight + tagBytes, _ledger.StoredBytes);
        store.Remove("a");
        Assert.Equal(ObjectStore.WeightOf(second) + tagBytes, _ledger.StoredBytes);
        store.Remove("b");
        Assert.Equal((0, 0), (_ledger.StoredBytes, store.Tags.Count));
    }

    [Fact]
    public void Objects_WithManyTagsOfTheirOwn_AreEvictedWithinTheLimit()
    {
        const int MaxBytes = 1_000_000;
        ObjectStore store = CreateStore(MaxBytes);
        for (int number = 0; number < 100; number++)
        {
            Assert.True(store.Add(Make($"{number}", [.. Enumerable.Range(0, 256).Select(tag => $"{number}-{tag}")])));
            Assert.InRange(_ledger.StoredBytes, 1, MaxBytes);
        }

        Assert.InRange(store.Count, 10, 30);
        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Object_WhoseTagsAloneAreOverTheLimit_IsNotStored()
    {
        ObjectStore store = CreateStore(maxBytes: 10_000);

        Assert.False(store.Add(Make("a", [.. Enumerable.Range(0, 256).Select(tag => $"{tag}")])));
        Assert.True(store.Add(Make("a", "one")));

        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Object_ConfirmedWithOtherTags_IsChargedThose()
    {
        ObjectStore store = CreateStore(maxBytes: 1 << 20);
        CachedObject earlier = Make("a", "one", "two");
        store.Add(earlier);

        store.Replace(earlier, earlier.Confirm(earlier.Head, earlier.Verdict, "", StampOf("a", "two", "three", "four")));

        Assert.Equal(3, store.Tags.Count);
        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Tags_OfWhatOnlyAReaderKeeps_ArePinned()
    {
        ObjectStore store = CreateStore(maxBytes: 1 << 20);
        CachedObject read = Make("a", "own", "shared");
        store.Add(read);
        store.Add(Make("b", "shared"));
        using ObjectReader reader = new(read, static () => { });

        store.Remove("a");

        Assert.Equal(ObjectStore.WeightOf(read) + new Tag("own").Bytes, _ledger.PinnedBytes);
        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Prefix_OfSeveralObjects_IsCountedOnceUntilTheLastGoes()
    {
        ObjectStore store = CreateStore(maxBytes: 1 << 20);
        (CachedObject first, CachedObject second) = (Make("www/news/a"), Make("www/b"));
        long outer = new Tag("www/", outer: null).Bytes;

        store.Add(first);
        store.Add(second);
        Assert.Equal(ObjectStore.WeightOf(first) + ObjectStore.WeightOf(second) + outer + new Tag("www/news/", outer: null).Bytes, _ledger.StoredBytes);
        store.Remove("www/news/a");
        Assert.Equal((ObjectStore.WeightOf(second) + outer, 1), (_ledger.StoredBytes, store.Tags.Count));
        store.Remove("www/b");
        Assert.Equal((0, 0), (_ledger.StoredBytes, store.Tags.Count));
    }

    /// <summary>What an origin calls its tags is its own business.</summary>
    [Fact]
    public void Tag_OfTheNameOfAPrefix_IsAnother()
    {
        ObjectStore store = CreateStore(maxBytes: 1 << 20);
        (CachedObject tagged, CachedObject below) = (Make("a", "www/"), Make("www/b"));
        store.Add(tagged);
        store.Add(below);
        StoreBooks.AreInOrder(store, _ledger);

        _purges.PurgePrefix("www/", isSoft: false);
        Assert.Equal((false, true), (tagged.IsGone, below.IsGone));
        _purges.PurgeTag("www/", isSoft: false);
        Assert.True(tagged.IsGone);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Books_AfterAnyChanges_AreInOrder(int seed)
    {
        const int MaxBytes = 30_000;
        Random random = new(seed);
        ObjectStore store = CreateStore(MaxBytes);
        for (int step = 0; step < 3_000; step++)
        {
            int number = random.Next(30);
            string key = $"{(number % 2 == 0 ? "" : "a/")}{number % 5}/{number}";
            switch (random.Next(10))
            {
                case <= 5:
                    store.Add(Make(key, RandomTags(random)));
                    break;
                case 6:
                    store.Remove(key);
                    break;
                case 7 when store.FindAll(key) is [{ } stored]:
                    store.Replace(stored, stored.Confirm(stored.Head, stored.Verdict, "", StampOf(key, RandomTags(random))));
                    break;
                case 8:
                    _purges.PurgeTag($"{random.Next(50)}", isSoft: false);
                    _purges.PurgePrefix($"a/{random.Next(10)}/", isSoft: random.Next(2) == 0);
                    store.StartReclaim();
                    break;
                case 9:
                    store.Sweep();
                    break;
            }

            Assert.InRange(_ledger.StoredBytes, 0, MaxBytes);
        }

        StoreBooks.AreInOrder(store, _ledger);
        Assert.NotEqual(0, store.Evictions);
    }

    private static string[] RandomTags(Random random) => [.. Enumerable.Range(0, random.Next(20)).Select(_ => $"{random.Next(50)}").Distinct()];

    private ObjectStore CreateStore(long maxBytes) => new(maxObjects: 1000, maxBytes, maxVariants: 1, _ledger);

    private PurgeStamp StampOf(string key, params string[] tags) => PurgeStamp.Of(_purges, _purges.Begin(), tags, _purges.InternPrefixOf(key));

    private CachedObject Make(string key, params string[] tags)
    {
        SharingVerdict verdict = new(null, TimeSpan.FromHours(1), IsFreshWhileArriving: false);
        CachedObject made = new(key, new ResponseHead(200, [], contentLength: 1), verdict, _ledger, _time) { Stamp = StampOf(key, tags) };
        made.Body.Append(1);
        made.Body.Finish(BodyEnd.Complete);
        return made;
    }
}
