using CachingService.Tests.Infrastructure;
using CachingService.Tests.Model;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Storage;

/// <summary>Whatever comes and goes: within the limits, and the books agree with what is there.</summary>
public sealed class ObjectStoreTests
{
    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    public void Store_UnderRandomWork_StaysWithinLimitsAndBooks(int seed)
    {
        Random random = new(seed);
        (MemoryLedger ledger, FakeTime time) = (new MemoryLedger(), new FakeTime());
        ObjectStore store = new(maxObjects: 20, maxBytes: 60_000, maxVariants: 1, ledger);
        HeaderDictionary request = [];
        List<ObjectReader> readers = new();
        for (int step = 0; step < 5_000; step++)
        {
            string key = $"k{random.Next(60)}";
            switch (random.Next(5))
            {
                case 0:
                    CachedObject made = TestObjects.CreateComplete(key, random.Next(0, 20_000), ledger, time);
                    Assert.True(store.Add(made));
                    Assert.True(
                        store.TryGet(key, request, out CachedObject? found) && ReferenceEquals(found, made),
                        $"seed {seed}, step {step}: the newcomer is not there");
                    break;
                case 1 when store.TryGet(key, request, out CachedObject? hit):
                    readers.Add(new ObjectReader(hit));
                    break;
                case 3 when store.Find(key, request) is { } earlier:
                    ResponseHead head = new(200, [new("X-New", new string('x', random.Next(3_000)))], earlier.Head.ContentLength);
                    CachedObject confirmed = earlier.Confirm(head, earlier.Verdict, variantKey: "", default);
                    readers.Add(new ObjectReader(earlier));
                    readers.Add(new ObjectReader(confirmed));
                    if (random.Next(4) == 0)
                    {
                        store.Remove(earlier);
                    }

                    store.Replace(earlier, confirmed);
                    Assert.NotSame(earlier, store.Find(key, request));
                    break;
                case 2 when readers.Count > 0:
                    int index = random.Next(readers.Count);
                    readers[index].Dispose();
                    readers.RemoveAt(index);
                    break;
                default:
                    time.Advance(TimeSpan.FromMilliseconds(random.Next(100)));
                    break;
            }

            List<CachedObject> stored = Enumerable.Range(0, 60).Select(number => store.Find($"k{number}", request)).OfType<CachedObject>().ToList();
            Assert.Equal((stored.Count, stored.Sum(entry => entry.Weight)), (store.Count, ledger.StoredBytes));
            Assert.InRange(store.Count, 0, 20);
            Assert.InRange(ledger.StoredBytes, 0, 60_000);
            IEnumerable<CachedObject> pinned = readers.Select(reader => reader.Object)
                .Where(entry => stored.All(other => other.Body != entry.Body)).DistinctBy(entry => entry.Body);
            Assert.Equal(pinned.Sum(entry => entry.Weight), ledger.PinnedBytes);
        }

        readers.ForEach(reader => reader.Dispose());
        Assert.Equal(0, ledger.PinnedBytes);
        StoreBooks.AreInOrder(store, ledger);
    }

    [Fact]
    public void Store_ThatIsFull_FirstEvictsWhatIsOfNoUseAnyMore()
    {
        (MemoryLedger ledger, FakeTime time) = (new MemoryLedger(), new FakeTime());
        ObjectStore store = new(maxObjects: 3, maxBytes: 60_000, maxVariants: 1, ledger);
        SharingVerdict verdict = new(null, TimeSpan.FromSeconds(5), IsFreshWhileArriving: false);
        foreach ((string key, int kept) in (ReadOnlySpan<(string, int)>)[("long", 100), ("short", 1), ("shorter", 0)])
        {
            CachedObject made = TestObjects.CreateComplete(key, 10, ledger, time);
            Assert.True(store.Add(made));
            store.Replace(made, made.Confirm(made.Head, verdict with { KeptFor = TimeSpan.FromSeconds(kept) }, variantKey: "", default));
        }

        time.Advance(TimeSpan.FromSeconds(6));
        foreach (string key in (string[])["a", "b", "c"])
        {
            Assert.True(store.Add(TestObjects.CreateComplete(key, 10, ledger, time)));
            Assert.Equal(key != "c", store.Find("long", new HeaderDictionary()) is not null);
        }

        Assert.Equal((3, 3L), (store.Count, store.Evictions));
    }
}
