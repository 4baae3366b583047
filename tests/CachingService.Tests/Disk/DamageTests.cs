using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;

namespace CachingService.Tests.Disk;

/// <summary>
/// Files that are not what was written: whatever a client gets is right as far as it goes, and the next one gets all of it.
/// </summary>
public sealed class DamageTests
{
    /// <summary>Of the object that was written first: its header takes one block.</summary>
    private const int BodyOffset = 2 * DiskLayout.BlockBytes;

    private const int PieceBytes = DiskLayout.PieceBytes;

    [Theory]
    [InlineData(0)]
    [InlineData(8)]
    [InlineData(16)]
    [InlineData(24)]
    [InlineData(32)]
    [InlineData(4096)]
    [InlineData(4096 + 8)]
    [InlineData(4096 + 12)]
    [InlineData(4096 + 16)]
    [InlineData(4096 + 24)]
    [InlineData(4096 + 32)]
    [InlineData(4096 + 40)]
    [InlineData(4096 + 50)]
    [InlineData(4096 + 4095)]
    public async Task FlippedBit_InAHeader_IsFoundAtTheStart(int offset)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Flip(scene.FirstSegment, offset));

        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Damaged));
        Assert.Single(scene.Service.Log.Warnings);
        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);

        // It is not found again by a later start, where a disk that reads well again could bring it back.
        await scene.RestartAsync(() => Flip(scene.FirstSegment, offset));
        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task FlippedBit_InTheFirstPiece_IsNoticedByNobody()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Flip(scene.FirstSegment, BodyOffset + 10));

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal((1, 0), (scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Damaged), scene.Service.Host.Metrics.CutReaders));
        Assert.Contains("the checksum of a body is wrong", Assert.Single(scene.Service.Log.Warnings), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(PieceBytes)]
    [InlineData(PieceBytes + 1000)]
    [InlineData(199_999)]
    public async Task FlippedBit_InALaterPiece_CutsBeforeIt(int at)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Flip(scene.FirstSegment, BodyOffset + at));
        string body = DiskScene.BodyOf("/a");

        await using (RawClient client = await scene.Service.GetAsync("/object/a"))
        {
            Assert.Equal("CachingService; hit; ttl=60; detail=disk", (await client.ReadHeadAsync()).CacheStatus);
            string received = await client.ReadToCloseAsync();
            Assert.InRange(received.Length, 0, at / PieceBytes * PieceBytes);
            Assert.StartsWith(received, body, StringComparison.Ordinal);
        }

        CachingServiceHost host = scene.Service.Host;
        Assert.Equal((1, 1, 0), (host.Cache.Disk!.Metrics.DropsOf(DropReason.Damaged), host.Metrics.CutReaders, host.Metrics.OriginFailures));
        Assert.Contains(scene.Service.Log.Warnings, line => line.StartsWith("Disk failed ", StringComparison.Ordinal));
        Assert.Equal("disk=1", scene.Service.ReasonsOf("cache_readers_cut_total"));
        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task FlippedBit_InThePadding_IsNoDamage()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Flip(scene.FirstSegment, BodyOffset + 200_001));

        Assert.EndsWith("detail=disk", await scene.GetAsync("a"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(100)]
    [InlineData(4096)]
    [InlineData(5000)]
    [InlineData(BodyOffset)]
    [InlineData(BodyOffset + 1000)]
    public async Task FileCutShort_IsFetchedAnew(int length)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Cut(scene.FirstSegment, length));

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(DiskScene.SegmentBytes, new FileInfo(scene.FirstSegment).Length);
    }

    [Fact]
    public async Task FileCutShort_WhileItIsInUse_IsAReadThatFails()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        Cut(scene.FirstSegment, BodyOffset + 100);

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.ReadFailed));
    }

    [Fact]
    public async Task ObjectInThePlaceOfAnother_IsNotTakenForIt()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.DemoteAsync("b");
        await scene.RestartAsync(() =>
        {
            // "a", "other" and "b" lie behind each other, in areas of the same size.
            byte[] file = File.ReadAllBytes(scene.FirstSegment);
            int area = DiskLayout.BlockBytes + (int)DiskLayout.InBlocks(200_000);
            file.AsSpan(DiskLayout.BlockBytes + (2 * area), area).CopyTo(file.AsSpan(DiskLayout.BlockBytes));
            File.WriteAllBytes(scene.FirstSegment, file);
        });

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Damaged));
    }

    [Fact]
    public async Task FileThatIsTooLong_IsCut()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.RestartAsync(() => Cut(scene.FirstSegment, 2 * DiskScene.SegmentBytes));

        // Longer than a segment, but the start says that it is one: the rest is cut off.
        Assert.EndsWith("detail=disk", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(DiskScene.SegmentBytes, new FileInfo(scene.FirstSegment).Length);
    }

    private static void Flip(string path, int offset)
    {
        using FileStream file = new(path, FileMode.Open);
        file.Position = offset;
        int value = file.ReadByte();
        file.Position = offset;
        file.WriteByte((byte)(value ^ 0x10));
    }

    private static void Cut(string path, int length)
    {
        using FileStream file = new(path, FileMode.Open, FileAccess.Write, FileShare.ReadWrite);
        file.SetLength(length);
    }
}
