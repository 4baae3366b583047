using System.Text;
using CachingService.Disk;
using CachingService.Http;
using CachingService.Options;
using CachingService.Storage;
using CachingService.Tests.Infrastructure;
using IoUringCache.Ring;

namespace CachingService.Tests.Disk;

/// <summary>A disk that fails, is full, stops short, or is slow at the wrong moment.</summary>
public sealed class DiskFaultTests : IAsyncLifetime
{
    private const int BodyBytes = 100_000;
    private const int FirstHeader = DiskLayout.BlockBytes;

    private readonly string _directory = Directory.CreateTempSubdirectory("disk-").FullName;
    private readonly FakeTime _time = new();
    private readonly MemoryLedger _ledger = new();
    private readonly LogLines _log = new();
    private FaultyFiles _files = null!;
    private DiskTier _tier = null!;

    public async ValueTask InitializeAsync()
    {
        _files = await FaultyFiles.StartAsync();
        _tier = await OpenAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await _tier.DisposeAsync();
        await _files.DisposeAsync();
        Directory.Delete(_directory, recursive: true);
    }

    [Fact]
    public async Task DiskThatStopsShort_IsReadAndWrittenAllTheSame()
    {
        _files.Most = 1000;
        await DemoteAsync("a");

        Assert.Equal(BodyOf("a"), await ReadAsync("a"));
        await ReopenAsync();
        Assert.Equal(BodyOf("a"), await ReadAsync("a"));
    }

    [Fact]
    public async Task FullDisk_DropsTheObjectAndGoesOnElsewhere()
    {
        _files.OnWrite = offset => offset > FirstHeader ? Errno.ENOSPC : null;
        _tier.Demote(Create("a"));
        await DroppedAsync();
        Assert.Equal(1, _tier.Metrics.DropsOf(DropReason.WriteFailed));
        Assert.Contains("ENOSPC", Assert.Single(_log.Warnings), StringComparison.Ordinal);

        _files.OnWrite = static _ => null;
        await DemoteAsync("b");
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
    }

    [Fact]
    public async Task FullDisk_ThatStaysFull_IsToldOfOnceAMinute()
    {
        _files.OnWrite = static offset => offset > FirstHeader ? Errno.ENOSPC : null;
        foreach (string name in (string[])["a", "b", "c"])
        {
            _tier.Demote(Create(name));
            await DroppedAsync();
        }

        Assert.Contains("0 others", Assert.Single(_log.Warnings), StringComparison.Ordinal);

        _time.Advance(TimeSpan.FromMinutes(1));
        _tier.Demote(Create("d"));
        await DroppedAsync();
        Assert.Equal(2, _log.Warnings.Count);
        Assert.Contains("2 others", _log.Warnings[^1], StringComparison.Ordinal);
        Assert.Equal(4, _tier.Metrics.DropsOf(DropReason.WriteFailed));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(FirstHeader)]
    public async Task HeaderThatCannotBeWritten_CostsTheSegment(int failing)
    {
        _files.OnWrite = offset => offset == failing ? Errno.EIO : null;
        _tier.Demote(Create("a"));
        await DroppedAsync();
        await Eventually.TrueAsync(() => _log.Errors.Count == 1, "the segment is retired");
        Assert.Equal(3, Directory.GetFiles(_directory, "segment-*").Length);

        _files.OnWrite = static _ => null;
        await DemoteAsync("b");
        await ReopenAsync();
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
    }

    [Fact]
    public async Task RemovalThatCannotBeWritten_DeletesTheFile()
    {
        await DemoteAsync("a");
        _files.OnWrite = static _ => Errno.EIO;

        _tier.Remove("a");
        await _tier.SettledAsync().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        Assert.Equal(3, Directory.GetFiles(_directory, "segment-*").Length);
        _files.OnWrite = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task ReadThatFails_IsNotRetriedAndDropsTheObject()
    {
        await DemoteAsync("a");
        _files.OnRead = static _ => Errno.EIO;
        Assert.Null(await ReadAsync("a"));

        _files.OnRead = static _ => null;
        Assert.Null(await ReadAsync("a"));
        Assert.Equal(1, _tier.Metrics.DropsOf(DropReason.ReadFailed));
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task ReadThatFails_InALaterPiece_EndsTheBodyThere()
    {
        await DemoteAsync("a");
        _files.OnRead = static offset => offset > FirstHeader + DiskLayout.BlockBytes + 1 ? Errno.EIO : null;

        await Assert.ThrowsAsync<DiskException>(() => ReadAsync("a"));

        Assert.Equal((1, 0), (_tier.Metrics.DropsOf(DropReason.ReadFailed), _tier.Count));
    }

    [Fact]
    public async Task HeaderThatCannotBeReadAtTheStart_IsNotFoundLaterEither()
    {
        await DemoteAsync("a");
        await _tier.DisposeAsync();
        _files.OnRead = static offset => offset == FirstHeader ? Errno.EIO : null;
        _tier = await OpenAsync();
        Assert.Null(await ReadAsync("a"));

        _files.OnRead = static _ => null;
        await ReopenAsync();
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task Removal_WhileTheHeaderIsWritten_IsSettledOnlyWhenItIsOverwritten()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource reached = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _files.BeforeWrite = offset =>
        {
            if (offset != FirstHeader)
            {
                return Task.CompletedTask;
            }

            reached.TrySetResult();
            return go.Task;
        };
        _tier.Demote(Create("a"));
        await reached.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        _tier.Remove("a");
        Task settled = _tier.SettledAsync();
        Assert.False(settled.IsCompleted);
        go.SetResult();
        await settled.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

        // As after a kill: what is on the disk now counts.
        string copy = Directory.CreateTempSubdirectory("disk-").FullName;
        foreach (string file in Directory.GetFiles(_directory, "segment-*"))
        {
            File.Copy(file, Path.Combine(copy, Path.GetFileName(file)));
        }

        await using (DiskTier later = await DiskTier.OpenAsync(Options(copy), _files, new PurgeEpochs(_time), _time, _log.CreateLogger("CachingService")))
        {
            Assert.Equal(0, later.Count);
        }

        Directory.Delete(copy, recursive: true);
        Assert.Null(await ReadAsync("a"));
        Assert.Empty(_log.Warnings);
    }

    [Fact]
    public async Task Removal_WhileTheBodyIsWritten_LeavesNothing()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource reached = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _files.BeforeWrite = offset =>
        {
            reached.TrySetResult();
            return go.Task;
        };
        _tier.Demote(Create("a"));
        await reached.Task.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        _tier.Remove("a");
        Assert.True(_tier.SettledAsync().IsCompletedSuccessfully);
        go.SetResult();
        await DemoteAsync("b");

        await ReopenAsync();
        Assert.Equal((null, BodyOf("b")), (await ReadAsync("a"), await ReadAsync("b")));
        Assert.Empty(_log.Warnings);
    }

    [Fact]
    public async Task SegmentThatIsRead_IsNotUsedAgain()
    {
        await DemoteAsync("a");
        using DiskObject read = (await _tier.FindAsync("a", static _ => ""))!;
        int number = 0;
        while (_tier.Metrics.DropsOf(DropReason.NoSegment) == 0)
        {
            Assert.True(number < 100, "the segment was used again");
            _tier.Demote(Create($"b{number++}"));
            await Eventually.TrueAsync(() => _tier.WaitingBytes == 0, "nothing waits");
        }

        Assert.Equal(BodyOf("a"), await ReadAllAsync(read));
        read.Dispose();
        await DemoteAsync("c");
        Assert.Null(await ReadAsync("a"));
    }

    [Fact]
    public async Task QueueThatIsFull_DropsWhatComes()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _files.BeforeWrite = _ => go.Task;
        for (int number = 0; number < 5; number++)
        {
            _tier.Demote(Create($"a{number}"));
        }

        Assert.Equal((2, 300_000), (_tier.Metrics.DropsOf(DropReason.QueueFull), _tier.WaitingBytes));
        go.SetResult();
        await Eventually.TrueAsync(() => _tier.WaitingBytes == 0, "nothing waits");
        Assert.Equal(3, _tier.Count);
    }

    [Theory]
    [InlineData(true, 0, 60)]
    [InlineData(false, 61, 60)]
    [InlineData(false, 0, 0)]
    public async Task Demotion_TakesOnlyWhatIsWorthIt(bool isTaken, int age, int lifetime)
    {
        CachedObject entry = Create("a", TimeSpan.FromSeconds(lifetime));
        _time.Advance(TimeSpan.FromSeconds(age));

        _tier.Demote(entry);

        Assert.Equal(isTaken ? 1 : 0, _tier.Count);
        await Eventually.TrueAsync(() => _tier.WaitingBytes == 0, "nothing waits");
    }

    private static string BodyOf(string key) => DiskScene.BodyOf($"/{key}?bytes={BodyBytes}");

    private static DiskOptions Options(string path) =>
        new() { Path = path, SegmentBytes = 1 << 20, SegmentCount = 4, QueueBytes = 3 * BodyBytes, MinObjectBytes = 1 };

    private Task<DiskTier> OpenAsync() => DiskTier.OpenAsync(Options(_directory), _files, new PurgeEpochs(_time), _time, _log.CreateLogger("CachingService"));

    private async Task ReopenAsync()
    {
        await _tier.DisposeAsync();
        _tier = await OpenAsync();
    }

    private CachedObject Create(string key, TimeSpan? lifetime = null)
    {
        SharingVerdict verdict = new(null, lifetime ?? TimeSpan.FromMinutes(1), IsFreshWhileArriving: false);
        CachedObject entry = new(key, new ResponseHead(200, [], BodyBytes), verdict, _ledger, _time);
        byte[] body = Encoding.Latin1.GetBytes(BodyOf(key));
        for (int done = 0; done < body.Length;)
        {
            Memory<byte> free = entry.Body.GetFreeMemory();
            body.AsMemory(done, free.Length).CopyTo(free);
            entry.Body.Append(free.Length);
            done += free.Length;
        }

        entry.Body.Finish(BodyEnd.Complete);
        return entry;
    }

    private async Task DemoteAsync(string key)
    {
        long before = _tier.Metrics.Demotions;
        _tier.Demote(Create(key));
        await Eventually.TrueAsync(() => _tier.Metrics.Demotions > before, $"{key} is written");
    }

    private Task DroppedAsync() => Eventually.TrueAsync(() => _tier is { WaitingBytes: 0, Count: 0 }, "it is dropped");

    private async Task<string?> ReadAsync(string key)
    {
        using DiskObject? found = await _tier.FindAsync(key, static _ => "").WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        return found is null ? null : await ReadAllAsync(found);
    }

    private static async Task<string> ReadAllAsync(DiskObject source)
    {
        byte[] body = GC.AllocateArray<byte>(BodyBytes + DiskLayout.PieceBytes, pinned: true);
        int length = 0;
        while (await source.ReadAsync(body.AsMemory(length), CancellationToken.None).AsTask().WaitAsync(Patience.Limit) is var count and > 0)
        {
            length += count;
        }

        return Encoding.Latin1.GetString(body, 0, length);
    }
}
