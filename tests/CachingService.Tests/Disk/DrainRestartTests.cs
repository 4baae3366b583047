using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Disk;

/// <summary>What clients see after a drain that has saved memory to the disk, and a start.</summary>
public sealed class DrainRestartTests
{
    private const string DiskHit = "CachingService; hit; ttl=60; detail=disk";
    private const string Room = "--Cache:MaxObjects=100";

    private static readonly string[] s_names = [.. Enumerable.Range(0, 20).Select(static number => $"o{number}?bytes={4_096 + (5_000 * number)}")];

    /// <summary>As the service is when its options do not say otherwise.</summary>
    private static readonly string s_saves = $"--{DiskOptionCatalog.SaveOnDrain.Name}={DiskOptionCatalog.SaveOnDrain.DefaultText}";

    [Fact]
    public async Task Drain_SavesMemory_AndTheNextProcessHasItAll()
    {
        await using DiskScene scene = await DiskScene.StartAsync(Room, s_saves);
        await GetAllAsync(scene);
        await scene.GetAsync("chunked");
        await scene.GetAsync("vary", "X-Kind: one\r\n");
        await RestartAsync(scene);
        int asked = scene.Origin.RequestCount;

        Assert.All(await GetAllAsync(scene), static status => Assert.Equal(DiskHit, status));
        Assert.Equal(DiskHit, await scene.GetAsync("chunked"));
        Assert.Equal(DiskHit, await scene.GetAsync("vary", "X-Kind: one\r\n"));
        Assert.Equal(asked, scene.Origin.RequestCount);
        Assert.Empty(scene.Service.Log.Warnings);
        await scene.Service.IsAtRestAsync();
    }

    [Fact]
    public async Task Drain_WithATimeOfZero_SavesNothing()
    {
        await using DiskScene scene = await DiskScene.StartAsync(Room, "--Cache:DiskSaveOnDrain=0");
        await GetAllAsync(scene);
        DiskTier tier = scene.Service.Host.Cache.Disk!;
        await RestartAsync(scene);

        Assert.Equal((0L, 0), (tier.Metrics.WrittenBytes, scene.Service.Host.Cache.Disk!.Count));
        Assert.All(await GetAllAsync(scene), static status => Assert.StartsWith("CachingService; fwd=uri-miss", status, StringComparison.Ordinal));
    }

    [Fact]
    public async Task SecondDrain_WritesOnlyWhatTheDiskHasNot()
    {
        await using DiskScene scene = await DiskScene.StartAsync(Room, s_saves);
        await GetAllAsync(scene);
        await RestartAsync(scene);
        await GetAllAsync(scene);
        await scene.GetAsync("new");
        DiskTier tier = scene.Service.Host.Cache.Disk!;
        await RestartAsync(scene);

        Assert.Equal(1, tier.Metrics.Demotions);
        Assert.Equal(s_names.Length + 1, scene.Service.Host.Cache.Disk!.Count);
        Assert.All(await GetAllAsync(scene), static status => Assert.Equal(DiskHit, status));
        Assert.Equal(DiskHit, await scene.GetAsync("new"));
    }

    [Fact]
    public async Task ObjectSmallerThanTheLeast_IsNotSaved()
    {
        await using DiskScene scene = await DiskScene.StartAsync(Room, s_saves);
        await scene.GetAsync("small?bytes=4095");
        await scene.GetAsync("large?bytes=4096");
        await RestartAsync(scene);

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("small?bytes=4095"), StringComparison.Ordinal);
        Assert.Equal(DiskHit, await scene.GetAsync("large?bytes=4096"));
    }

    [Fact]
    public async Task Confirmed_IsSavedWithItsNewHead()
    {
        await using DiskScene scene = await DiskScene.StartAsync(Room, s_saves);
        scene.OnValidation = static exchange => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=300\r\nX-New: yes\r\n\r\n");
        await scene.GetAsync("valid:public");
        await RestartAsync(scene);
        Assert.Equal(DiskHit, await scene.GetAsync("valid:public"));
        scene.Service.Time.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal("CachingService; fwd=stale; fwd-status=304", await scene.GetAsync("valid:public"));
        DiskTier tier = scene.Service.Host.Cache.Disk!;
        await RestartAsync(scene);

        Assert.Equal((1L, 1), (tier.Metrics.Demotions, scene.Service.Host.Cache.Disk!.Count));
        scene.Service.Time.Advance(TimeSpan.FromSeconds(60));
        RawResponse head = (await scene.Service.FetchAsync("/object/valid:public")).Head;
        Assert.Equal(("CachingService; hit; ttl=300; detail=disk", "yes"), (head.CacheStatus, head["X-New"]));
    }

    private static async Task<List<string>> GetAllAsync(DiskScene scene)
    {
        List<string> statuses = [];
        foreach (string name in s_names)
        {
            statuses.Add(await scene.GetAsync(name));
        }

        return statuses;
    }

    private static async Task RestartAsync(DiskScene scene)
    {
        // A fetch whose last byte has just been sent may not have ended.
        await scene.Service.IsAtRestAsync();
        await scene.RestartAsync().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }
}
