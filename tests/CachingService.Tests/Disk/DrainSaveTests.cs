using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>Which objects of memory a drain writes to the disk, in which order, and when it stops.</summary>
public sealed class DrainSaveTests : TierTests
{
    /// <summary>Objects of <see cref="TierTests.BodyBytes"/> in a segment.</summary>
    private const int SegmentCapacity = 9;

    [Fact]
    public async Task TimeThatIsShort_IsForTheMostRequested()
    {
        ObjectStore store = CreateStore();
        CachedObject[] entries = AddAll(store, 5);
        entries[1].Reads = 2;
        entries[3].Reads = 1;

        // The segment's start, two objects, and the third one's body.
        int writes = 0;
        Files.Segments.OnWrite = _ =>
        {
            Time.Advance(++writes == 6 ? SaveTime : TimeSpan.Zero);
            return null;
        };
        await SaveAsync(store);

        Assert.Equal(6, Files.Segments.WriteCount);
        Assert.Contains(
            "2 of 5 objects are written in 10000 ms, and 2 are there now, of 5 in memory; the time of Cache:DiskSaveOnDrain is over",
            Assert.Single(Log.Warnings),
            StringComparison.Ordinal);
        await AssertSavedAsync("a1", "a3");
    }

    [Fact]
    public async Task DiskThatIsShort_IsForTheMostRequested()
    {
        for (int number = 0; number < 5; number++)
        {
            await DemoteAsync($"b{number}");
        }

        ObjectStore store = CreateStore();
        CachedObject[] entries = AddAll(store, 50);
        Array.ForEach(entries[30..], static entry => entry.Reads = 3);
        await SaveAsync(store);

        // The rest of the segment that was being filled, and the three others: no object of this drain is replaced by a later one.
        int saved = (SegmentCount * SegmentCapacity) - 5;
        Assert.Contains($"{saved} of 50 objects", Assert.Single(Log.Warnings), StringComparison.Ordinal);
        await AssertSavedAsync([.. Enumerable.Range(50 - saved, saved).Select(NameOf), .. Enumerable.Range(0, 5).Select(static number => $"b{number}")]);
    }

    [Fact]
    public async Task ObjectOnTheDisk_WhoseSegmentIsUsedAgain_IsWrittenAgain()
    {
        ObjectStore store = CreateStore();
        CachedObject popular = Create("popular");
        popular.Reads = 3;
        store.Add(popular);
        Tier.Demote(popular);
        for (int number = 0; number < SegmentCapacity; number++)
        {
            await DemoteAsync($"b{number}");
        }

        // The last of them needs the segment in which the popular one is.
        string[] names = [.. AddAll(store, 3 * SegmentCapacity).Select(static entry => entry.Key)];
        await SaveAsync(store);

        Assert.Empty(Log.Warnings);
        await AssertSavedAsync([.. names, "popular", $"b{SegmentCapacity - 1}"]);
    }

    [Fact]
    public async Task ObjectOfAnEarlierProcess_WhoseSegmentIsUsedAgain_IsWrittenAgain()
    {
        await DemoteAsync("popular");
        for (int number = 1; number < SegmentCount * SegmentCapacity; number++)
        {
            await DemoteAsync($"b{number}");
        }

        await ReopenAsync();
        ObjectStore store = CreateStore();
        CachedObject popular = Create("popular");
        using (DiskObject found = (await Tier.FindAsync("popular", static _ => ""))!)
        {
            (popular.Below, popular.Reads) = (found.Copy, 3);
        }

        store.Add(popular);
        AddAll(store, 2);
        await SaveAsync(store);

        await AssertSavedAsync(["popular", "a0", "a1", .. Enumerable.Range(SegmentCapacity, 3 * SegmentCapacity).Select(static number => $"b{number}")]);
    }

    [Fact]
    public async Task ObjectOfNoUse_IsNotWritten()
    {
        TimeSpan minute = TimeSpan.FromMinutes(1);
        SharingVerdict keptStale = new(null, minute, IsFreshWhileArriving: false) { KeptFor = minute };
        HeaderField[] tag = [new("ETag", "\"one\"")];
        ObjectStore store = CreateStore();
        Purge(isSoft: false, Add("hard", "red"));
        Purge(isSoft: true, Add("soft", "blue"));
        store.Add(Create("soft-with-a-validator", keptStale, tag, tags: "green"));
        Purge(isSoft: true, "green");
        Add("expired");
        store.Add(Create("stale", keptStale, []));
        store.Add(Create("stale-with-a-validator", keptStale, tag));
        store.Add(Create("stale-of-a-key", keptStale, tag));
        store.MakeStale("stale-of-a-key", Purges.CountOne());
        store.Add(Create("for-one-client", keptStale with { Refusal = "private", CanShareOnceValidated = true }, tag));
        store.Add(Create("removed"));
        store.Remove("removed");
        Time.Advance(minute);
        Add("fresh");

        await SaveAsync(store);

        Assert.Empty(Log.Warnings);
        Assert.Equal(2, Tier.Count);
        await AssertSavedAsync("fresh", "stale-with-a-validator");

        string Add(string key, params string[] tags)
        {
            store.Add(Create(key, minute, tags: tags));
            return tags.FirstOrDefault("");
        }

        void Purge(bool isSoft, string name) => Purges.PurgeTag(name, isSoft);
    }

    [Fact]
    public async Task ObjectThatIsRemovedMeanwhile_IsNotFoundLater()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        Task reached = Files.Segments.HoldWrites(static offset => offset == FirstHeader);
        Task saving = Tier.SaveAsync(store);
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        store.Remove("a2");
        store.Remove("a1");
        Task settled = Tier.SettledAsync();
        Assert.False(settled.IsCompleted);
        Files.Segments.GoOn();
        await saving.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        await AssertSavedAsync("a0");
    }

    [Fact]
    public async Task ObjectThatIsMadeStaleMeanwhile_IsNotFoundLater()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        Task reached = Files.Segments.HoldWrites(static offset => offset == FirstHeader);
        Task saving = Tier.SaveAsync(store);
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        // One is being written, and one has yet to be. Both stay in memory.
        store.MakeStale("a2", Purges.CountOne());
        store.MakeStale("a1", Purges.CountOne());
        Files.Segments.GoOn();
        await saving.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        await AssertSavedAsync("a0");
    }

    [Fact]
    public async Task WriteThatHangs_IsTheLastOne()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        Task reached = Files.Segments.HoldWrites(static offset => offset > FirstHeader);
        Task saving = Tier.SaveAsync(store);
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        int writes = Files.Segments.WriteCount;

        Time.Advance(SaveTime);
        Assert.False(saving.IsCompleted);
        Files.Segments.GoOn();
        await saving.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((writes, 0), (Files.Segments.WriteCount, Tier.Count));
        await AssertSavedAsync();
    }

    [Fact]
    public async Task LargeObject_IsLeftInItsMiddleWhenTheTimeIsOver()
    {
        ObjectStore store = CreateStore();
        store.Add(Create("large", bytes: 3 * DiskLayout.WriteBytes));
        Files.Segments.OnWrite = offset =>
        {
            Time.Advance(offset > FirstHeader ? SaveTime : TimeSpan.Zero);
            return null;
        };
        await SaveAsync(store);

        Assert.Equal(2, Files.Segments.WriteCount);
        await AssertSavedAsync();
    }

    [Fact]
    public async Task DiskThatFails_EndsTheSave()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 20);
        Files.Segments.OnWrite = static offset => offset > FirstHeader ? Errno.EIO : null;
        await SaveAsync(store);

        // Each segment is begun once, and the first body in it fails.
        Assert.Equal(2 * SegmentCount, Files.Segments.WriteCount);
        Assert.Contains("0 of 20 objects are written", Log.Warnings[^1], StringComparison.Ordinal);
        Files.Segments.OnWrite = static _ => null;
        await AssertSavedAsync();
    }

    [Fact]
    public async Task DiskOnWhichOneWriteFails_HasTheOthers()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 5);
        int writes = 0;
        Files.Segments.OnWrite = _ => ++writes == 2 ? Errno.ENOSPC : null;
        await SaveAsync(store);

        Assert.Equal(1, Tier.Metrics.DropsOf(DropReason.WriteFailed));
        await AssertSavedAsync("a0", "a1", "a2", "a3");
    }

    [Fact]
    public async Task ObjectsThatWait_AreWrittenFirst()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 10);
        Task reached = Files.Segments.HoldWrites(static _ => true);
        Tier.Demote(Create("b0"));
        Tier.Demote(Create("b1"));
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Task saving = Tier.SaveAsync(store);
        Files.Segments.GoOn();
        await saving.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        // More than may wait at a time.
        Assert.Equal((0, 12), (Tier.Metrics.DropsOf(DropReason.QueueFull), Tier.Metrics.Demotions));
        await AssertSavedAsync(["b0", "b1", .. Enumerable.Range(0, 10).Select(NameOf)]);
    }

    [Fact]
    public async Task ObjectsThatWait_AreDroppedWhenTheTimeIsOver()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        Task reached = Files.Segments.HoldWrites(static _ => true);
        Tier.Demote(Create("b0"));
        Tier.Demote(Create("b1"));
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Task saving = Tier.SaveAsync(store);
        Time.Advance(SaveTime);
        Files.Segments.GoOn();
        await saving.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal((0, 0), (Tier.Count, Tier.WaitingBytes));
        Assert.Contains("0 of 3 objects", Assert.Single(Log.Warnings), StringComparison.Ordinal);
        await AssertSavedAsync();
    }

    [Fact]
    public async Task Save_OfWhatTheDiskHas_WritesNothing()
    {
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        await SaveAsync(store);
        int writes = Files.Segments.WriteCount;
        await SaveAsync(store);

        Assert.Equal(writes, Files.Segments.WriteCount);
        await AssertSavedAsync("a0", "a1", "a2");
    }

    [Fact]
    public async Task Save_WithATimeOfZero_LeavesMemoryAndWhatWaits()
    {
        SaveTime = TimeSpan.Zero;
        await ReopenAsync();
        ObjectStore store = CreateStore();
        AddAll(store, 3);
        Task reached = Files.Segments.HoldWrites(static _ => true);
        Tier.Demote(Create("b"));
        await reached.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await SaveAsync(store);

        Files.Segments.GoOn();
        await AssertSavedAsync("b");
    }

    private static string NameOf(int number) => $"a{number}";

    private CachedObject[] AddAll(ObjectStore store, int count)
    {
        CachedObject[] entries = [.. Enumerable.Range(0, count).Select(number => Create(NameOf(number)))];
        Array.ForEach(entries, entry => Assert.True(store.Add(entry)));
        return entries;
    }

    private Task SaveAsync(ObjectStore store) => Tier.SaveAsync(store).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

    /// <summary>The next process finds these objects, as they were, and no others.</summary>
    private async Task AssertSavedAsync(params string[] keys)
    {
        await ReopenAsync();
        Assert.Equal(keys.Length, Tier.Count);
        foreach (string key in keys)
        {
            Assert.Equal(BodyOf(key), await ReadAsync(key));
        }
    }
}
