using System.Globalization;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Several responses under one key (RFC 9111 4.1).</summary>
public sealed class VariantTests
{
    private readonly MemoryLedger _ledger = new();
    private readonly FakeTime _time = new();

    [Fact]
    public void Variants_OverTheirNumber_DropTheOldest()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 3, _ledger);
        CachedObject[] made = [.. Enumerable.Range(0, 5).Select(number => Add(store, "Vary: X", $"X: {number}"))];
        Add(store, "Vary: X", "X: 3");

        Assert.Equal([null, null, made[2]], Enumerable.Range(0, 3).Select(number => store.Find("key", Heads.Request($"X: {number}"))));
        Assert.Equal((3, 2L, 0L), (store.Count, store.VariantEvictions, store.Evictions));
        Add(store, "Vary: X", "X: 5");
        Assert.Null(store.Find("key", Heads.Request("X: 2")));
        Assert.NotNull(store.Find("key", Heads.Request("X: 3")));
    }

    [Fact]
    public void Remove_OfAKey_TakesAllVariants()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        Add(store, "Vary: X", "X: 1");
        Add(store, "Vary: X", "X: 2");
        Add(store, "Vary: Y", "Y: 1");
        Add(store, "", "", "other");

        store.Remove("key");

        Assert.Null(store.Find("key", Heads.Request("X: 1")));
        Assert.Null(store.Find("key", Heads.Request("Y: 1")));
        Assert.NotNull(store.Find("other", Heads.Request("")));
        Assert.Equal((1, VaryRule.None), (store.Count, store.VaryOf("key")));
    }

    [Fact]
    public void Candidates_ByDifferentFields_TheLatestDateWins()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        CachedObject late = Add(store, "Vary: X\r\nDate: Mon, 31 Dec 2029 23:59:59 GMT", "X: 1");
        CachedObject early = Add(store, "Vary: Y\r\nDate: Mon, 31 Dec 2029 23:59:58 GMT", "Y: 1");

        Assert.Same(late, store.Find("key", Heads.Request("X: 1\r\nY: 1")));
        Assert.Same(early, store.Find("key", Heads.Request("X: 2\r\nY: 1")));
        Assert.Null(store.Find("key", Heads.Request("X: 2\r\nY: 2")));

        _time.Advance(TimeSpan.FromSeconds(1));
        CachedObject tied = Add(store, "Date: Mon, 31 Dec 2029 23:59:59 GMT", "");
        Assert.Same(tied, store.Find("key", Heads.Request("X: 1")));
        Assert.Same(tied, store.Find("key", Heads.Request("")));
    }

    [Fact]
    public void Variants_BehindAShortAnswerWithoutVary_AreFoundAgainWhenItHasExpired()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        CachedObject variant = Add(store, "Vary: X", "X: 1");
        _time.Advance(TimeSpan.FromSeconds(1));
        CachedObject forAll = Add(store, "", "", seconds: 1);

        Assert.Same(forAll, store.Find("key", Heads.Request("X: 1")));
        Assert.Equal("x", store.VaryOf("key").ToString());
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(store.TryGet("key", Heads.Request("X: 1"), out CachedObject? found));
        Assert.Same(variant, found);
        Assert.False(store.TryGet("key", Heads.Request("X: 2"), out _));
    }

    [Fact]
    public void StaleVariant_BehindAnAnswerThatIsOfNoUseAnyMore_IsFoundToBeValidated()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        CachedObject variant = Add(store, "Vary: X\r\nETag: \"a\"", "X: 1", seconds: 1);
        _time.Advance(TimeSpan.FromSeconds(1));
        Add(store, "", "", seconds: 1);
        _time.Advance(TimeSpan.FromSeconds(1));

        Assert.Same(variant, store.Find("key", Heads.Request("X: 1")));
    }

    [Fact]
    public void Variants_ThatHaveExpiredAndDifferByOtherFields_GoWithTheNextAnswer()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        Add(store, "Vary: X", "X: 1", seconds: 1);
        Add(store, "Vary: X", "X: 2", seconds: 60);
        Add(store, "", "", seconds: 1);
        _time.Advance(TimeSpan.FromSeconds(1));

        Add(store, "Vary: Y", "Y: 1");

        Assert.Equal(2, store.Count);
        Assert.Equal("y", store.VaryOf("key").ToString());
        Assert.Null(store.Find("key", Heads.Request("X: 1")));
        Assert.NotNull(store.Find("key", Heads.Request("X: 2")));
    }

    [Fact]
    public void Variants_AreChargedTheirSecondaryKey()
    {
        ObjectStore store = new(maxObjects: 100, maxBytes: 1 << 20, maxVariants: 16, _ledger);
        Add(store, "Vary: X", "X: 1");
        long one = _ledger.StoredBytes;
        Add(store, "Vary: X", "X: " + new string('x', 1001));

        Assert.Equal((2 * one) + 2000, _ledger.StoredBytes);
    }

    [Theory]
    [InlineData(21)]
    [InlineData(22)]
    [InlineData(23)]
    public void Store_UnderRandomWork_GivesEachRequestItsOwnAndStaysWithinLimits(int seed)
    {
        Random random = new(seed);
        ObjectStore store = new(maxObjects: 12, maxBytes: 6_500, maxVariants: 3, _ledger);
        string[] varies = ["", "Vary: X", "Vary: Y", "Vary: X, Y"];
        for (int step = 0; step < 5_000; step++)
        {
            string key = $"k{random.Next(5)}";
            string request = $"X: {random.Next(3)}\r\nY: {random.Next(3)}";
            switch (random.Next(5))
            {
                case 0:
                    store.Remove(key);
                    Assert.Null(store.Find(key, Heads.Request(request)));
                    break;
                case 1:
                    _time.Advance(TimeSpan.FromMilliseconds(random.Next(2_000)));
                    break;
                default:
                    CachedObject made = Add(store, varies[random.Next(4)], request, key, random.Next(1, 5));
                    Assert.Same(made, store.Find(key, Heads.Request(request)));
                    break;
            }

            HashSet<CachedObject> found = [];
            for (int number = 0; number < 45; number++)
            {
                string each = $"X: {number / 3 % 3}\r\nY: {number % 3}";
                if (store.Find($"k{number / 9}", Heads.Request(each)) is { } entry)
                {
                    Assert.True(entry.Suits(Heads.Request(each)) && entry.Key == $"k{number / 9}", $"seed {seed}, step {step}");
                    found.Add(entry);
                }
            }

            Assert.InRange(store.Count, found.Count, 12);
            Assert.InRange(_ledger.StoredBytes, found.Sum(entry => entry.Weight), 6_500);
            Assert.All(found.GroupBy(entry => entry.Key), variants => Assert.InRange(variants.Count(), 1, 3));
        }

        Enumerable.Range(0, 5).ToList().ForEach(number => store.Remove($"k{number}"));
        Assert.Equal((0, 0L), (store.Count, _ledger.StoredBytes));
    }

    private CachedObject Add(ObjectStore store, string fields, string request, string key = "key", int seconds = 60)
    {
        fields += string.Create(CultureInfo.InvariantCulture, $"\r\nCache-Control: max-age={seconds}");
        SharingVerdict verdict = Heads.Judge(fields);
        CachedObject made = new(key, Heads.Create(fields), verdict with { InitialAge = TimeSpan.Zero }, _ledger, _time)
        {
            VariantKey = verdict.Vary.KeyOf(Heads.Request(request)),
        };
        made.Body.Trim();
        made.Body.Finish(BodyEnd.Complete);
        Assert.True(store.Add(made));
        return made;
    }
}
