using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Disk;

/// <summary>What clients see of objects that memory has no room for.</summary>
public sealed class DiskTierTests
{
    private const string DiskHit = "CachingService; hit; ttl=60; detail=disk";

    [Theory]
    [InlineData("a")]
    [InlineData("chunked")]
    [InlineData("small?bytes=5000")]
    [InlineData("whole-pieces?bytes=131072")]
    [InlineData("as-much-as-is-written-at-a-time?bytes=262144")]
    public async Task Evicted_AskedForAgain_ComesFromTheDiskAsItWas(string name)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync(name);
        scene.Service.Time.Advance(TimeSpan.FromSeconds(20));

        (RawResponse head, string body) = await scene.Service.FetchAsync($"/object/{name}");

        Assert.True(body == DiskScene.BodyOf($"/{name}"));
        Assert.Equal(("CachingService; hit; ttl=40; detail=disk", "20", "one, two"), (head.CacheStatus, head["Age"], head["X-Field"]));
        Assert.Equal("CachingService; hit; ttl=40", await scene.GetAsync(name));
        Assert.Equal(2, scene.Origin.RequestCount);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.Promotions);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task RequestWithAuthorization_ForWhatIsOnTheDisk_GoesToTheOrigin()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");

        RawResponse head = (await scene.Service.FetchAsync("/object/a", "Authorization: x\r\n")).Head;

        Assert.Equal("CachingService; fwd=bypass; fwd-status=200; detail=authorization", head.CacheStatus);
        Assert.Equal(0, scene.Service.Host.Cache.Disk!.Metrics.Promotions);
    }

    [Fact]
    public async Task Promoted_EvictedAgain_IsNotWrittenAgain()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.DemoteAsync("b");
        Assert.Equal(DiskHit, await scene.GetAsync("a"));
        Assert.Equal(DiskHit, await scene.GetAsync("b"));
        Assert.Equal(DiskHit, await scene.GetAsync("a"));

        // "a", "other" and "b"; "other" was evicted by "b".
        Assert.Equal(3, scene.Service.Host.Cache.Disk!.Metrics.Demotions);
        Assert.Equal(3, scene.Service.Host.Cache.Disk.Count);
    }

    [Fact]
    public async Task Restart_KeepsWhatIsOnTheDisk()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.DemoteAsync("b");
        await scene.RestartAsync();
        int asked = scene.Origin.RequestCount;

        Assert.Equal(DiskHit, await scene.GetAsync("a"));
        Assert.Equal(DiskHit, await scene.GetAsync("b"));
        await scene.RestartAsync();
        Assert.Equal(DiskHit, await scene.GetAsync("a"));

        Assert.Equal(asked, scene.Origin.RequestCount);
        Assert.Empty(scene.Service.Log.Warnings);
    }

    [Fact]
    public async Task Range_OfWhatIsOnTheDisk_IsCut()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");

        (RawResponse head, string body) = await scene.Service.FetchAsync("/object/a", "Range: bytes=100000-100099\r\n");

        Assert.Equal((206, DiskScene.BodyOf("/a").Substring(100_000, 100)), (head.Status, body));
        Assert.Equal(2, scene.Origin.RequestCount);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Invalidated_IsNotFoundAgain(bool isStartedAnew)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        await scene.DemoteAsync("b");

        Assert.Equal(200, (await scene.Service.FetchAsync("/object/a", "Content-Length: 0\r\n", "POST")).Head.Status);
        if (isStartedAnew)
        {
            await scene.RestartAsync();
        }

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(DiskHit, await scene.GetAsync("b"));
    }

    [Fact]
    public async Task Stale_IsFetchedAnew()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");
        scene.Service.Time.Advance(TimeSpan.FromSeconds(60));

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale));
    }

    [Fact]
    public async Task ClockSetBack_LeavesNothingToTrust()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        scene.Service.Time.Advance(TimeSpan.FromSeconds(1));
        await scene.DemoteAsync("a");
        await scene.RestartAsync();

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
        Assert.Equal(1, scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.Stale));
    }

    [Fact]
    public async Task Variants_AreToldApart()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.GetAsync("vary", "X-Kind: one\r\n");
        await scene.GetAsync("vary", "X-Kind: two\r\n");
        await scene.DemoteAsync("a");
        await Eventually.TrueAsync(() => scene.Service.Host.Cache.Disk!.Metrics.Demotions == 4, "both variants are written, and the one without the field");

        RawResponse one = (await scene.Service.FetchAsync("/object/vary", "X-Kind: one\r\n")).Head;
        RawResponse two = (await scene.Service.FetchAsync("/object/vary", "X-Kind: two\r\n")).Head;
        RawResponse three = (await scene.Service.FetchAsync("/object/vary", "X-Kind: three\r\n")).Head;
        RawResponse none = (await scene.Service.FetchAsync("/object/vary")).Head;

        Assert.Equal((DiskHit, "one"), (one.CacheStatus, one["X-Seen"]));
        Assert.Equal((DiskHit, "two"), (two.CacheStatus, two["X-Seen"]));
        Assert.Equal("three", three["X-Seen"]);
        Assert.Equal((DiskHit, ""), (none.CacheStatus, none["X-Seen"]));
    }

    [Fact]
    public async Task Head_OfWhatIsOnTheDisk_IsAHit()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("a");

        RawResponse head = (await scene.Service.FetchAsync("/object/a", method: "HEAD")).Head;

        Assert.Equal((DiskHit, "200000", 2), (head.CacheStatus, head["Content-Length"], scene.Origin.RequestCount));
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task NewerObject_TakesTheOldOnesPlaceOnTheDiskToo()
    {
        await using DiskScene scene = await DiskScene.StartAsync("--Cache:RequestDirectives=Honour");
        await scene.DemoteAsync("a");

        // What the disk has is not new enough for this client.
        Assert.Contains("fwd-status=200", await scene.GetAsync("a", "Cache-Control: no-cache\r\n"), StringComparison.Ordinal);
        await scene.RestartAsync();

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("a"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task EvictedWhileTheOriginSendsWhatIsNotStored_LeavesTheDiskToo()
    {
        const string Name = "valid:public";
        await using DiskScene scene = await DiskScene.StartAsync("--Cache:RequestDirectives=Honour");
        scene.OnValidation = async exchange =>
        {
            await scene.GetAsync("other");
            await Eventually.TrueAsync(() => scene.Service.Host.Cache.Disk!.Metrics.Demotions == 1, "it is written");
            await exchange.AnswerAsync("new", "Cache-Control: max-age=0\r\n");
        };
        await scene.GetAsync(Name);
        Assert.Equal("new", (await scene.Service.FetchAsync($"/object/{Name}", "Cache-Control: no-cache\r\n")).Body);

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync(Name), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Disk_FilledManyTimes_ServesOnlyWhatIsRight()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        for (int round = 0; round < 3; round++)
        {
            for (int number = 0; number < 30; number++)
            {
                await scene.GetAsync($"o{number}?bytes={50_000 + (10_000 * number)}");
            }
        }

        await scene.RestartAsync();
        for (int number = 29; number >= 0; number--)
        {
            await scene.GetAsync($"o{number}?bytes={50_000 + (10_000 * number)}");
        }

        Assert.True(scene.Service.Host.Cache.Disk!.Metrics.Promotions > 0);
        Assert.Empty(scene.Service.Log.Warnings);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task Object_LargerThanASegment_IsDropped()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        string name = $"a?bytes={DiskScene.SegmentBytes - 4096}";
        await scene.GetAsync(name);
        await scene.GetAsync("b");

        await Eventually.TrueAsync(() => scene.Service.Host.Cache.Disk!.Metrics.DropsOf(DropReason.TooLarge) == 1, "it is dropped");
        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync(name), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Object_AsLargeAsASegment_IsKept()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        string name = $"a?bytes={DiskScene.SegmentBytes - 8192}";
        await scene.DemoteAsync(name);
        await scene.RestartAsync();

        Assert.Equal(DiskHit, await scene.GetAsync(name));
    }

    [Fact]
    public async Task Files_AreTheOwnersAlone_AndOfTheirFullLength()
    {
        await using DiskScene scene = await DiskScene.StartAsync();

        string[] files = [.. Directory.EnumerateFiles(scene.Directory, "segment-*")];

        Assert.Equal(4, files.Length);
        Assert.All(files, file => Assert.Equal(DiskScene.SegmentBytes, new FileInfo(file).Length));
        Assert.All(files, file => Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file)));
    }

    [Fact]
    public async Task Directory_OfAnotherService_IsRefusedInOneLine()
    {
        await using DiskScene scene = await DiskScene.StartAsync();

        OptionException refusal = await Assert.ThrowsAsync<OptionException>(scene.StartServiceAsync);

        Assert.StartsWith($"Option Cache:DiskPath: cannot use '{scene.Directory}': ", refusal.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', refusal.Message);
    }

    [Theory]
    [InlineData("Cache:DiskPath", "--Cache:DiskPath=/proc/nowhere")]
    [InlineData("Cache:DiskBytes", "--Cache:DiskBytes=1MiB")]
    [InlineData("Cache:DiskBytes", "--Cache:DiskBytes=1048576GiB")]
    [InlineData("Cache:DiskSegmentBytes", "--Cache:DiskSegmentBytes=1500KiB")]
    [InlineData("Cache:DiskSegmentBytes", "--Cache:DiskSegmentBytes=4KiB")]
    [InlineData("Cache:DiskQueueBytes", "--Cache:DiskQueueBytes=0")]
    [InlineData("Cache:DiskSaveOnDrain", "--Cache:DiskSaveOnDrain=61m")]
    public async Task Options_ThatAreWrong_AreNamed(string name, string option)
    {
        string directory = Directory.CreateTempSubdirectory("disk-").FullName;

        string[] options = [$"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB"];
        options = [.. options.Where(other => !option.StartsWith(other.Split('=')[0], StringComparison.Ordinal)), option];

        OptionException refusal = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://127.0.0.1:9", options));

        Assert.StartsWith($"Option {name}: ", refusal.Message, StringComparison.Ordinal);
        Assert.Empty(Directory.EnumerateFiles(directory, "segment-*"));
        Directory.Delete(directory, recursive: true);
    }
}
