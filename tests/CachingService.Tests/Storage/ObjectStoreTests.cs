using CachingService.Storage;
using CachingService.Tests.Infrastructure;

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
        ObjectStore store = new(maxObjects: 20, maxBytes: 60_000, ledger);
        List<ObjectReader> readers = new();
        for (int step = 0; step < 5_000; step++)
        {
            string key = $"k{random.Next(60)}";
            switch (random.Next(4))
            {
                case 0:
                    CachedObject made = TestObjects.CreateComplete(key, random.Next(0, 20_000), ledger, time);
                    Assert.True(store.Add(made));
                    Assert.True(
                        store.TryGet(key, out CachedObject? found) && ReferenceEquals(found, made),
                        $"seed {seed}, step {step}: the newcomer is not there");
                    break;
                case 1 when store.TryGet(key, out CachedObject? hit):
                    readers.Add(new ObjectReader(hit));
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

            List<CachedObject> stored = Enumerable.Range(0, 60).Select(number => store.Peek($"k{number}")).OfType<CachedObject>().ToList();
            Assert.Equal((stored.Count, stored.Sum(entry => entry.Weight)), (store.Count, ledger.StoredBytes));
            Assert.InRange(store.Count, 0, 20);
            Assert.InRange(ledger.StoredBytes, 0, 60_000);
            Assert.Equal(readers.Select(reader => reader.Object).Distinct().Except(stored).Sum(entry => entry.Weight), ledger.PinnedBytes);
        }

        readers.ForEach(reader => reader.Dispose());
        Assert.Equal(0, ledger.PinnedBytes);
    }
}
