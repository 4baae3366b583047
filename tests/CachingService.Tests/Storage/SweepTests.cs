using CachingService.Tests.Infrastructure;
using CachingService.Tests.Model;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using Microsoft.AspNetCore.Http;

namespace CachingService.Tests.Storage;

/// <summary>What has expired or was purged leaves the memory without anybody asking for it, a few hundred objects at a time.</summary>
public sealed class SweepTests
{
    private static readonly SharingVerdict s_minute = new(null, TimeSpan.FromMinutes(1), IsFreshWhileArriving: false);

    private readonly FakeTime _time = new();
    private readonly MemoryLedger _ledger = new();

    [Fact]
    public async Task Objects_PastTheirUse_AreRemovedEachSecond()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", exchange.Target == "/stale"
            ? "Cache-Control: max-age=5, stale-if-error=10\r\n" : "Cache-Control: max-age=5\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/stale");

        service.Time.Advance(TimeSpan.FromSeconds(4.5));
        Assert.Equal((2, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Expired));
        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal((1, 1L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Expired));
        service.Time.Advance(TimeSpan.FromSeconds(10));

        Assert.Equal((0, 2L, 0L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.Expired, service.Host.Cache.Ledger.StoredBytes));
        Assert.Equal(0, service.Host.Cache.Store.Evictions);
    }

    [Fact]
    public void Step_RemovesNoMoreThanItsShare()
    {
        ObjectStore store = Fill(new PurgeEpochs(_time), count: 600);
        _time.Advance(TimeSpan.FromMinutes(2));

        List<int> left = [];
        while (store.Sweep())
        {
            left.Add(store.Count);
        }

        Assert.Equal([344, 88], left);
        Assert.Equal((0, 600L, 0L), (store.Count, store.Expired, store.Purged));
        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Purged_ObjectsAreReclaimedStepByStepAndTheOthersStay()
    {
        PurgeEpochs purges = new(_time);
        ObjectStore store = Fill(purges, count: 700);
        purges.PurgeTag("odd", isSoft: false);
        store.StartReclaim();
        int steps = 1;
        for (; store.Sweep(); steps++)
        {
            Assert.InRange(store.Count, 700 - (steps * 256), 700);
        }

        Assert.Equal((3, 350, 350L, 0L), (steps, store.Count, store.Purged, store.Expired));
        Assert.False(store.Sweep());
        StoreBooks.AreInOrder(store, _ledger);
    }

    [Fact]
    public void Purge_DuringAPass_IsFollowedByAnotherPass()
    {
        PurgeEpochs purges = new(_time);
        ObjectStore store = Fill(purges, count: 600);
        purges.PurgeTag("odd", isSoft: false);
        store.StartReclaim();
        Assert.True(store.Sweep());
        purges.PurgeAll(isSoft: false);
        store.StartReclaim();
        while (store.Sweep())
        {
        }

        Assert.Equal((0, 600L), (store.Count, store.Purged));
    }

    [Fact]
    public void Eviction_TakesThePurgedBeforeTheOthers()
    {
        PurgeEpochs purges = new(_time);
        ObjectStore store = Fill(purges, count: 10, maxObjects: 10);
        purges.PurgeTag("odd", isSoft: false);
        Assert.Equal(10, store.Count);
        store.StartReclaim();
        Assert.True(store.Add(Make(purges, 10)));

        Assert.Equal((6, 5L, 0L), (store.Count, store.Purged, store.Evictions));
        Assert.All([0, 2, 4, 6, 8, 10], number => Assert.NotNull(store.Find($"{number}", new HeaderDictionary())));
        StoreBooks.AreInOrder(store, _ledger);
    }

    /// <summary>Each tagged as odd or even.</summary>
    private ObjectStore Fill(PurgeEpochs purges, int count, int maxObjects = 1000)
    {
        ObjectStore store = new(maxObjects, maxBytes: 1 << 30, maxVariants: 1, _ledger);
        Assert.All(Enumerable.Range(0, count), number => Assert.True(store.Add(Make(purges, number))));
        return store;
    }

    private CachedObject Make(PurgeEpochs purges, int number)
    {
        CachedObject made = new($"{number}", new ResponseHead(200, [], 0), s_minute, _ledger, _time)
        {
            Stamp = PurgeStamp.Of(purges, purges.Begin(), [number % 2 == 0 ? "even" : "odd"]),
        };
        made.Body.Finish(BodyEnd.Complete);
        return made;
    }
}
