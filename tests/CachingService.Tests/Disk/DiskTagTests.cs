using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Disk;

/// <summary>The memory of the tags of what is on the disk has a limit, and goes with the objects.</summary>
public sealed class DiskTagTests : TierTests
{
    private const int Small = 5_000;

    [Fact]
    public async Task Tags_OverTheirLimit_HaveTheOldestSegmentMakeRoom()
    {
        long ofEach = TagsOf(0).Sum(tag => new Tag(tag).Bytes + sizeof(long));
        TagBytes = 10 * ofEach;
        await ReopenAsync();

        for (int number = 0; number < 100; number++)
        {
            await DemoteAsync($"{number}", Small, TagsOf(number));

            // Each segment is given one object before the first is used again.
            Assert.InRange(Tier.TagBytes, 1, TagBytes + (SegmentCount * ofEach));
        }

        Assert.Equal(BodyOf("99", Small), await ReadAsync("99"));
        Assert.Null(await ReadAsync("0"));
        Assert.InRange(Tier.Count, 3, 10 + SegmentCount);
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Tags_OfWhatGoes_AreNotCountedAnyMore()
    {
        await DemoteAsync("a", Small, "own", "shared");
        await DemoteAsync("b", Small, "shared");
        Assert.Equal((2, new Tag("own").Bytes + new Tag("shared").Bytes), (Tier.TagCount, Tier.TagBytes));

        Tier.Remove("a");
        await SettledAsync();
        Assert.Equal((1, new Tag("shared").Bytes), (Tier.TagCount, Tier.TagBytes));
        await ReopenAsync();
        Assert.Equal((1, new Tag("shared").Bytes), (Tier.TagCount, Tier.TagBytes));
        Tier.Remove("b");
        Assert.Equal((0, 0L), (Tier.TagCount, Tier.TagBytes));
    }

    [Fact]
    public async Task Tags_OfWhatGoes_AreNotInMemoryAnyMore()
    {
        const int Count = 20;
        for (int number = 0; number < Count; number++)
        {
            await DemoteAsync($"{number}", Small, TagsOf(number));
        }

        for (int number = 0; number < Count; number++)
        {
            Tier.Remove($"{number}");
        }

        await SettledAsync();
        GC.Collect();
        Purges.RemoveUnusedTags(inUse: 0);

        // Those of the object that was written last may still be in use.
        Assert.InRange(Purges.TagCount, 0, TagsOf(0).Length);
    }

    [Fact]
    public async Task Tags_OfWhatWaitsToBeWritten_CountInTheQueue()
    {
        _ = Files.Segments.HoldWrites(static _ => true);
        CachedObject entry = Create("a", bytes: Small, tags: TagsOf(1));

        Tier.Demote(entry);

        Assert.Equal(Small + entry.Stamp.ListBytes + entry.Stamp.TagBytes, Tier.WaitingBytes);
        Files.Segments.GoOn();
        await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
    }

    private static string[] TagsOf(int number) => [.. Enumerable.Range(100, 100).Select(tag => $"{number + 100}-{tag}")];
}
