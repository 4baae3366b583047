using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Storage;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>A disk that fails, is full, stops short, or is slow at the wrong moment.</summary>
public sealed class DiskFaultTests : TierTests
{
    [Fact]
    public async Task DiskThatStopsShort_IsReadAndWrittenAllTheSame()
    {
        Files.Most = 1000;
        await DemoteAsync("a");

        Assert.Equal(BodyOf("a"), await ReadAsync("a"));
        await ReopenAsync();
        Assert.Equal(BodyOf("a"), await ReadAsync("a"));
    }

    [Fact]
    public async Task FullDisk_DropsTheObjectAndGoesOnElsewhere()
    {
        Files.Segments.OnWrite = offset => offset > FirstHeader ? Errno.ENOSPC : null;
        Tier.Demote(Create("a"));
        await DroppedAsync();
        Assert.Equal(1, Tier.Metrics.DropsOf(DropReason.WriteFailed));
        Assert.Contains("ENOSPC", Assert.Single(Log.Warnings), StringComparison.Ordinal);

        Files.Segments.OnWrite = static _ => null;
        await DemoteAsync("b");
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
    }

    [Fact]
    public async Task FullDisk_ThatStaysFull_IsToldOfOnceAMinute()
    {
        Files.Segments.OnWrite = static offset => offset > FirstHeader ? Errno.ENOSPC : null;
        foreach (string name in (string[])["a", "b", "c"])
        {
            Tier.Demote(Create(name));
            await DroppedAsync();
        }

        Assert.Contains("0 others", Assert.Single(Log.Warnings), StringComparison.Ordinal);

        Time.Advance(TimeSpan.FromMinutes(1));
        Tier.Demote(Create("d"));
        await DroppedAsync();
        Assert.Equal(2, Log.Warnings.Count);
        Assert.Contains("2 others", Log.Warnings[^1], StringComparison.Ordinal);
        Assert.Equal(4, Tier.Metrics.DropsOf(DropReason.WriteFailed));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(FirstHeader)]
    public async Task HeaderThatCannotBeWritten_CostsTheSegment(int failing)
    {
        Files.Segments.OnWrite = offset => offset == failing ? Errno.EIO : null;
        Tier.Demote(Create("a"));
        await DroppedAsync();
        await Eventually.TrueAsync(() => Log.Errors.Count == 1, "the segment is retired");
        Assert.Equal(3, Directory.GetFiles(DirectoryPath, "segment-*").Length);

        Files.Segments.OnWrite = static _ => null;
        await DemoteAsync("b");
        await ReopenAsync();
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
    }

    [Fact]
    public async Task RemovalThatCannotBeWritten_DeletesTheFile()
    {
        await DemoteAsync("a");
        Files.Segments.OnWrite = static _ => Errno.EIO;

        Tier.Remove("a");
        await SettledAsync();

        Assert.Equal(3, Directory.GetFiles(DirectoryPath, "segment-*").Length);
        Files.Segments.OnWrite = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task RemovalThatCannotBeWritten_InADirectoryThatWasMoved_DeletesItsOwnFile()
    {
        await DemoteAsync("a");
        string moved = DirectoryPath + "-moved";
        Directory.Move(DirectoryPath, moved);
        Directory.CreateDirectory(DirectoryPath);
        File.WriteAllText(Path.Combine(DirectoryPath, "segment-00000"), "untouched");
        Files.Segments.OnWrite = static _ => Errno.EIO;

        Tier.Remove("a");
        await SettledAsync();

        Assert.Equal(3, Directory.GetFiles(moved, "segment-*").Length);
        Assert.Equal("untouched", File.ReadAllText(Path.Combine(DirectoryPath, "segment-00000")));
        Directory.Delete(moved, recursive: true);
    }

    [Fact]
    public async Task ReadThatFails_IsNotRetriedAndDropsTheObject()
    {
        await DemoteAsync("a");
        Files.Segments.OnRead = static _ => Errno.EIO;
        Assert.Null(await ReadAsync("a"));

        Files.Segments.OnRead = static _ => null;
        Assert.Null(await ReadAsync("a"));
        Assert.Equal(1, Tier.Metrics.DropsOf(DropReason.ReadFailed));
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task ReadThatFails_InALaterPiece_EndsTheBodyThere()
    {
        await DemoteAsync("a");
        Files.Segments.OnRead = static offset => offset > FirstHeader + DiskLayout.BlockBytes + 1 ? Errno.EIO : null;

        await Assert.ThrowsAsync<DiskException>(() => ReadAsync("a"));

        Assert.Equal((1, 0), (Tier.Metrics.DropsOf(DropReason.ReadFailed), Tier.Count));
    }

    [Fact]
    public async Task HeaderThatCannotBeReadAtTheStart_IsNotFoundLaterEither()
    {
        await DemoteAsync("a");
        await ReopenAsync(() => Files.Segments.OnRead = static offset => offset == FirstHeader ? Errno.EIO : null);
        Assert.Null(await ReadAsync("a"));

        Files.Segments.OnRead = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task Removal_WhileTheHeaderIsWritten_IsSettledOnlyWhenItIsOverwritten()
    {
        Task reached = Files.Segments.HoldWrites(static offset => offset == FirstHeader);
        Tier.Demote(Create("a"));
        await reached;

        Tier.Remove("a");
        Task settled = Tier.SettledAsync();
        Assert.False(settled.IsCompleted);
        Files.Segments.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        await ReopenAsync(KeepFiles());
        Assert.Equal(0, Tier.Count);
        Assert.Null(await ReadAsync("a"));
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Removal_WhileTheBodyIsWritten_LeavesNothing()
    {
        Task reached = Files.Segments.HoldWrites(static offset => offset > FirstHeader);
        Tier.Demote(Create("a"));
        await reached;
        Tier.Remove("a");
        Assert.True(Tier.SettledAsync().IsCompletedSuccessfully);
        Files.Segments.GoOn();
        await DemoteAsync("b");

        await ReopenAsync();
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Removal_WhileItsSegmentIsBegunAnew_IsSettledOnlyWhenThatIsWritten()
    {
        // Nine fill a segment.
        for (int number = 0; number < 36; number++)
        {
            await DemoteAsync($"a{number}");
        }

        Task reached = Files.Segments.HoldWrites(static offset => offset == 0);
        Tier.Demote(Create("b"));
        await reached;

        Tier.Remove("a0");
        Task settled = Tier.SettledAsync();
        Assert.False(settled.IsCompleted);
        Files.Segments.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await ReopenAsync(KeepFiles());
        Assert.Null(await ReadAsync("a0"));
        Assert.Equal(BodyOf("a35"), await ReadAsync("a35"));
    }

    [Fact]
    public async Task SegmentThatIsRead_IsNotUsedAgain()
    {
        await DemoteAsync("a");
        using DiskObject read = (await Tier.FindAsync("a", static _ => ""))!;
        int number = 0;
        while (Tier.Metrics.DropsOf(DropReason.NoSegment) == 0)
        {
            Assert.True(number < 100, "the segment was used again");
            Tier.Demote(Create($"b{number++}"));
            await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
        }

        Assert.Equal(BodyOf("a"), await ReadAllAsync(read));
        read.Dispose();
        await DemoteAsync("c");
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task QueueThatIsFull_DropsWhatComes()
    {
        _ = Files.Segments.HoldWrites(static _ => true);
        for (int number = 0; number < 5; number++)
        {
            Tier.Demote(Create($"a{number}"));
        }

        Assert.Equal((2, 300_000), (Tier.Metrics.DropsOf(DropReason.QueueFull), Tier.WaitingBytes));
        Files.Segments.GoOn();
        await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
        Assert.Equal(3, Tier.Count);
    }

    [Theory]
    [InlineData(true, 0, 60)]
    [InlineData(false, 61, 60)]
    [InlineData(false, 0, 0)]
    public async Task Demotion_TakesOnlyWhatIsWorthIt(bool isTaken, int age, int lifetime)
    {
        CachedObject entry = Create("a", TimeSpan.FromSeconds(lifetime));
        Time.Advance(TimeSpan.FromSeconds(age));

        Tier.Demote(entry);

        Assert.Equal(isTaken ? 1 : 0, Tier.Count);
        await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");
    }
}
