using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>What was purged before somebody was told so is found neither by this process nor by a later one, wherever this one ends.</summary>
public sealed class PurgeJournalTests : TierTests
{
    private const int Small = 5_000;

    /// <summary>Purges for which the journal has blocks.</summary>
    private const int Room = DiskLayout.JournalBlocks - 1;

    private static readonly string s_tooLong = new('x', JournalBlock.MaxTagBytes + 1);

    [Theory]
    [InlineData("red", 10)]
    [InlineData("red", 400)]
    [InlineData(null, 10)]
    [InlineData(null, 400)]
    public async Task Purge_OfHoweverManyObjects_WritesOneBlock(string? tag, int objects)
    {
        for (int number = 0; number < objects; number++)
        {
            await DemoteAsync($"a{number}", bytes: Small, "red");
        }

        (int segmentWrites, int journalWrites) = (Files.Segments.WriteCount, Files.Journal.WriteCount);
        await PurgeAsync(tag);

        Assert.Equal((0, 1), (Files.Segments.WriteCount - segmentWrites, Files.Journal.WriteCount - journalWrites));
        await ReopenAsync(KeepFiles());
        Assert.Equal(0, Tier.Count);
    }

    [Theory]
    [InlineData("red", false)]
    [InlineData("red", true)]
    [InlineData("d/", false)]
    [InlineData("d/", true)]
    [InlineData(null, false)]
    [InlineData(null, true)]
    public async Task Purged_OfAnyProcess_StaysGoneAndTakesNobodyAlong(string? tag, bool isSoft)
    {
        await DemoteAsync("d/first", tags: ["red", "blue"]);
        await DemoteAsync("other", tags: ["blue"]);
        await ReopenAsync(KeepFiles());
        await DemoteAsync("d/e/second", tags: ["red"]);
        await PurgeAsync(tag, isSoft);
        await DemoteAsync("d/later", tags: ["red"]);

        // The second time there is no purge in the journal any more.
        for (int process = 0; process < 2; process++)
        {
            await ReopenAsync(KeepFiles());
            Assert.Equal((null, null), (await ReadAsync("d/first"), await ReadAsync("d/e/second")));
            Assert.Equal((tag is null ? null : BodyOf("other"), BodyOf("d/later")), (await ReadAsync("other"), await ReadAsync("d/later")));
        }

        await PurgeAsync("blue");
        await ReopenAsync(KeepFiles());
        Assert.Equal((null, BodyOf("d/later")), (await ReadAsync("other"), await ReadAsync("d/later")));
        Assert.Empty(Log.Warnings);
    }

    /// <summary>An earlier program must trust nothing on the disk rather than miss such a purge.</summary>
    [Fact]
    public void Prefix_InABlock_HasAVersionOfItsOwn()
    {
        (byte[] tag, byte[] prefix) = (new byte[DiskLayout.BlockBytes], new byte[DiskLayout.BlockBytes]);
        JournalBlock purge = new(JournalKind.Tag, 7, new(1, 4096), "a/");

        Assert.True(purge.TryWrite(tag, 3) && (purge with { Kind = JournalKind.Prefix }).TryWrite(prefix, 3));

        Assert.Equal((purge, purge with { Kind = JournalKind.Prefix }), (JournalBlock.Read(tag, 3), JournalBlock.Read(prefix, 3)));
        Assert.Equal("CSPurg\u0001\0"u8, tag.AsSpan(0, 8));
        Assert.Equal("CSPurg\u0002\0"u8, prefix.AsSpan(0, 8));
    }

    [Fact]
    public async Task Tag_OfAnyText_IsTheSameAfterwards()
    {
        string[] tags = ["", " ", "é", "Red", new('x', JournalBlock.MaxTagBytes), s_tooLong];
        for (int number = 0; number < tags.Length; number++)
        {
            await DemoteAsync($"{number}", Small, tags[number]);
        }

        await DemoteAsync("red", tags: ["red"]);
        foreach (string tag in tags)
        {
            await PurgeAsync(tag);
        }

        await ReopenAsync(KeepFiles());
        Assert.Equal((1, BodyOf("red")), (Tier.Count, await ReadAsync("red")));
    }

    [Fact]
    public async Task FullJournal_HasHeadersOverwrittenOnceAndBeginsAnew()
    {
        await DemoteAsync("first", tags: ["0"]);
        await DemoteAsync("last", tags: [$"{Room}"]);
        await DemoteAsync("next", tags: [$"{Room + 1}"]);
        await DemoteAsync("other", tags: ["other"]);
        int segmentWrites = Files.Segments.WriteCount;
        for (int purge = 0; purge < Room; purge++)
        {
            await PurgeAsync($"{purge}");
        }

        Assert.Equal(segmentWrites, Files.Segments.WriteCount);
        await PurgeAsync($"{Room}");
        Assert.Equal(segmentWrites + 2, Files.Segments.WriteCount);
        await PurgeAsync($"{Room + 1}");
        Assert.Equal(segmentWrites + 2, Files.Segments.WriteCount);

        await ReopenAsync(KeepFiles());
        Assert.Equal((1, BodyOf("other")), (Tier.Count, await ReadAsync("other")));
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Purge_IsHiddenAtOnceAndSettledWhenItIsWritten()
    {
        await DemoteAsync("a", tags: ["red"]);
        Task reached = Files.Journal.HoldWrites(static _ => true);
        Mark("red", isSoft: false);
        Task settled = Tier.SettledAsync();
        await reached;

        Assert.Null(await ReadAsync("a"));
        Assert.False(settled.IsCompleted);
        Files.Journal.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await SettledAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task KilledWhileTheJournalBeginsAnew_FindsNothingThatWasPurged(bool isOverwritten)
    {
        await DemoteAsync("a", tags: ["red"]);
        await DemoteAsync("b", tags: ["red"]);
        await DemoteAsync("c", tags: ["blue"]);
        await PurgeAsync("red");
        FileFaults held = isOverwritten ? Files.Journal : Files.Segments;
        Task reached = held.HoldWrites(offset => isOverwritten || offset > FirstHeader);
        Mark(s_tooLong, isSoft: false);
        Task settled = Tier.SettledAsync();
        await reached;
        Action keep = KeepFiles();
        Assert.False(settled.IsCompleted);
        held.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        await ReopenAsync(keep);
        Assert.Equal((null, null, BodyOf("c")), (await ReadAsync("a"), await ReadAsync("b"), await ReadAsync("c")));
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Purges_WhileHeadersAreOverwritten_AreWrittenToTheNewJournal()
    {
        await DemoteAsync("long", tags: [s_tooLong]);
        await DemoteAsync("a", tags: ["red"]);
        await DemoteAsync("b", tags: ["blue"]);
        Task reached = Files.Segments.HoldWrites(static _ => true);
        Mark(s_tooLong, isSoft: false);
        await reached;
        Mark("red", isSoft: false);
        Task settled = Tier.SettledAsync();

        Assert.Null(await ReadAsync("a"));
        Assert.False(settled.IsCompleted);
        Files.Segments.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await ReopenAsync(KeepFiles());
        Assert.Equal((1, BodyOf("b")), (Tier.Count, await ReadAsync("b")));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Purge_WhileAHeaderIsWritten_ConcernsIt(bool isTooLong)
    {
        string tag = isTooLong ? s_tooLong : "red";
        Task reached = Files.Segments.HoldWrites(static offset => offset == FirstHeader);
        Tier.Demote(Create("a", tags: [tag]));
        await reached;
        Mark(tag, isSoft: false);
        Task settled = Tier.SettledAsync();
        Files.Segments.GoOn();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        await Eventually.TrueAsync(() => Tier.WaitingBytes == 0, "nothing waits");

        await ReopenAsync(KeepFiles());
        Assert.Equal((0, null), (Tier.Count, await ReadAsync("a")));
        Assert.Empty(Log.Warnings);
    }

    [Fact]
    public async Task Purge_WhileAnObjectWaits_TakesItOutOfTheIndex()
    {
        Task reached = Files.Segments.HoldWrites(static offset => offset > FirstHeader);
        Tier.Demote(Create("a", tags: ["red"]));
        Tier.Demote(Create("b", tags: ["red"]));
        await reached;
        await PurgeAsync("red");
        Files.Segments.GoOn();

        await DroppedAsync();
        await DemoteAsync("c", tags: ["red"]);
        await ReopenAsync(KeepFiles());
        Assert.Equal((1, BodyOf("c")), (Tier.Count, await ReadAsync("c")));
    }

    [Fact]
    public async Task Purge_WhileTheClockIsWrong_Holds()
    {
        await DemoteAsync("a", tags: ["red"]);
        Time.Advance(TimeSpan.FromMinutes(2));
        await ReopenAsync(KeepFiles());
        await PurgeAsync("red");
        Time.Advance(TimeSpan.FromMinutes(-2));

        await ReopenAsync(KeepFiles());
        Assert.Null(await ReadAsync("a"));
    }

    [Theory]
    [InlineData(Errno.EIO, false)]
    [InlineData(Errno.ENOSPC, true)]
    public async Task JournalThatCannotBeWritten_IsToldOfOnceAndHeadersAreOverwritten(Errno error, bool isForGood)
    {
        foreach (string name in (string[])["a", "b", "c", "d"])
        {
            await DemoteAsync(name, tags: [$"tag-{name}"]);
        }

        Files.Journal.OnWrite = offset => isForGood || offset > 0 ? error : null;
        await PurgeAsync("tag-a");
        await PurgeAsync("tag-b");
        Assert.Contains($"{error}", Assert.Single(Log.Warnings), StringComparison.Ordinal);
        Action keep = KeepFiles();
        Files.Journal.OnWrite = static _ => null;
        await ReopenAsync(keep);
        Assert.Equal((null, null), (await ReadAsync("a"), await ReadAsync("b")));
        Assert.Equal((BodyOf("c"), BodyOf("d")), (await ReadAsync("c"), await ReadAsync("d")));
        Assert.Single(Log.Warnings);
    }

    [Fact]
    public async Task JournalThatCanBeWrittenAgain_IsUsedAgain()
    {
        foreach (string name in (string[])["a", "b", "c"])
        {
            await DemoteAsync(name, tags: [$"tag-{name}"]);
        }

        Files.Journal.OnWrite = static _ => Errno.EIO;
        await PurgeAsync("tag-a");
        Files.Journal.OnWrite = static _ => null;

        // This one makes the start that could not be written.
        await PurgeAsync("tag-b");
        int segmentWrites = Files.Segments.WriteCount;
        await PurgeAsync("tag-c");

        Assert.Equal(segmentWrites, Files.Segments.WriteCount);
        await ReopenAsync(KeepFiles());
        Assert.Equal(0, Tier.Count);
        Assert.Single(Log.Warnings);
    }

    [Fact]
    public async Task StartThatCannotBeWritten_StopsTheStart()
    {
        await DemoteAsync("a", tags: ["red"]);
        await PurgeAsync("red");
        Files.Journal.OnWrite = static _ => Errno.EIO;

        OptionException refusal = await Assert.ThrowsAsync<OptionException>(() => ReopenAsync());

        Assert.StartsWith($"Option Cache:DiskPath: {JournalPath} at 0: EIO", refusal.Message, StringComparison.Ordinal);
        Files.Journal.OnWrite = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }
}
