using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>The space of the segments is used as long as one of them can be written.</summary>
public sealed class SegmentSpaceTests : TierTests
{
    /// <summary>Objects of <see cref="TierTests.BodyBytes"/> in a segment.</summary>
    private const int SegmentCapacity = 9;

    public SegmentSpaceTests() => SegmentCount = 2;

    [Fact]
    public async Task LastSegmentThatCanBeWritten_IsUsedAgainAndAgain()
    {
        Files.Segments.OnWrite = static offset => offset == FirstHeader ? Errno.EIO : null;
        Tier.Demote(Create("lost"));
        await DroppedAsync();
        Files.Segments.OnWrite = static _ => null;

        for (int number = 0; number < 3 * SegmentCapacity; number++)
        {
            Tier.Demote(Create($"{number}"));
            await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
        }

        Assert.Equal((0, SegmentCapacity), (Tier.Metrics.DropsOf(DropReason.NoSegment), Tier.Count));
        Assert.Equal(BodyOf("26"), await ReadAsync("26"));
        await ReopenAsync();
        Assert.Equal(BodyOf("26"), await ReadAsync("26"));
        Assert.Null(await ReadAsync("17"));
    }
}
