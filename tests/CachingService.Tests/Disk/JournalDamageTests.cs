using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Options;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>Who cannot read what was purged believes none of the objects: nothing of them is served, and the log says why.</summary>
public sealed class JournalDamageTests : TierTests
{
    /// <summary>Magic, version, checksum, kind, nonce, sequence, offset, number, length of the tag, tag, padding.</summary>
    private static readonly int[] s_places = [0, 7, 8, 12, 16, 24, 32, 40, 44, 48, 4095];

    /// <summary>In the start, in the first and in the last purge.</summary>
    public static TheoryData<int> Bytes => new(from block in (int[])[0, 1, 2] from place in s_places select (block * DiskLayout.BlockBytes) + place);

    [Theory]
    [MemberData(nameof(Bytes))]
    public Task FlippedBit_IsFound(int offset) => DistrustAsync(file =>
    {
        file[offset] ^= 0x10;
        return file;
    });

    [Theory]
    [InlineData(0)]
    [InlineData(DiskLayout.BlockBytes)]
    [InlineData(2 * DiskLayout.BlockBytes)]
    [InlineData(DiskLayout.JournalBytes - 1)]
    [InlineData(DiskLayout.JournalBytes + 1)]
    public Task AnotherLength_IsOfNoJournal(int length) => DistrustAsync(file =>
    {
        Array.Resize(ref file, length);
        return file;
    });

    [Fact]
    public Task MissingFile_IsNoEmptyJournal() => DistrustAsync(static _ => null);

    [Fact]
    public Task MissingBlock_IsNotTheEnd() => DistrustAsync(static file =>
    {
        file.AsSpan(DiskLayout.BlockBytes, DiskLayout.BlockBytes).Clear();
        return file;
    });

    [Fact]
    public Task BlockInThePlaceOfAnother_IsNotTakenForIt() => DistrustAsync(static file =>
    {
        file.AsSpan(DiskLayout.BlockBytes, DiskLayout.BlockBytes).CopyTo(file.AsSpan(2 * DiskLayout.BlockBytes));
        return file;
    });

    [Fact]
    public async Task ReadThatFails_IsAsGoodAsDamage()
    {
        Files.Journal.OnRead = static _ => Errno.EIO;

        await DistrustAsync(static file => file, DropReason.ReadFailed);
    }

    [Fact]
    public async Task Damage_WithoutObjects_IsNoLoss()
    {
        await ReopenAsync(() => File.Delete(JournalPath));

        Assert.Empty(Log.Warnings);
        Assert.Equal(DiskLayout.JournalBytes, new FileInfo(JournalPath).Length);
    }

    [Fact]
    public async Task KilledBeforeEverythingIsDropped_TheNextProcessDropsIt()
    {
        await DemoteAsync("a");
        Files.Segments.OnWrite = static _ => Errno.EIO;
        await Assert.ThrowsAsync<OptionException>(() => ReopenAsync(() => File.Delete(JournalPath)));

        Files.Segments.OnWrite = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    /// <summary>Of three objects one is purged, and another tag; then the journal is damaged.</summary>
    /// <param name="damage">What is there in its place; <see langword="null"/> for no file.</param>
    /// <param name="reason">What is counted.</param>
    private async Task DistrustAsync(Func<byte[], byte[]?> damage, DropReason reason = DropReason.Damaged)
    {
        await DemoteAsync("a", tags: ["red"]);
        await DemoteAsync("b", tags: ["blue"]);
        await DemoteAsync("c");
        await PurgeAsync("red");
        await PurgeAsync("green");
        await ReopenAsync(KeepFiles() + (() =>
        {
            byte[]? changed = damage(File.ReadAllBytes(JournalPath));
            File.Delete(JournalPath);
            if (changed is not null)
            {
                File.WriteAllBytes(JournalPath, changed);
            }
        }));

        Assert.Equal((0, 3), (Tier.Count, Tier.Metrics.DropsOf(reason)));
        Assert.Contains(JournalPath, Assert.Single(Log.Warnings), StringComparison.Ordinal);
        Assert.Equal((null, null, null), (await ReadAsync("a"), await ReadAsync("b"), await ReadAsync("c")));

        // It goes on as if it were new, also where the disk reads again.
        Files.Journal.OnRead = static _ => null;
        await DemoteAsync("d", tags: ["red"]);
        await ReopenAsync(KeepFiles());
        Assert.Equal((1, BodyOf("d")), (Tier.Count, await ReadAsync("d")));
        Assert.Single(Log.Warnings);
    }
}
