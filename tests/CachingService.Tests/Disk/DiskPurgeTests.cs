using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Disk;

/// <summary>Purges of what is on the disk: it is not served again, neither by this process nor by a later one.</summary>
public sealed class DiskPurgeTests
{
    private static readonly Dictionary<string, Action<Purger, bool>> s_purges = new()
    {
        ["key"] = static (purger, isSoft) => purger.Purge(Purge.OfKey("d/tagged", isSoft)),
        ["tag"] = static (purger, isSoft) => purger.Purge(Purge.OfTag("blue", isSoft)),
        ["prefix"] = static (purger, isSoft) => purger.Purge(Purge.OfPrefix("d/", isSoft)),
        ["all"] = static (purger, isSoft) => purger.Purge(Purge.OfAll(isSoft)),
    };

    public static TheoryData<string, bool, bool, bool> Purges => new(
        from what in s_purges.Keys
        from isSoft in (bool[])[false, true]
        from isStartedAnew in (bool[])[false, true]
        from isStartedBetween in (bool[])[false, true]
        select (what, isSoft, isStartedAnew, isStartedBetween));

    [Theory]
    [MemberData(nameof(Purges))]
    public async Task Purged_IsNotFoundAgain(string what, bool isSoft, bool isStartedAnew, bool isStartedBetween)
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("d/tagged");
        await scene.DemoteAsync("plain");
        if (isStartedBetween)
        {
            // Then nothing but the disk knows of its tags.
            await scene.RestartAsync();
        }

        s_purges[what](scene.Service.Host.Cache.Purger, isSoft);
        await scene.Service.Host.Cache.Disk!.SettledAsync();
        if (isStartedAnew)
        {
            await scene.RestartAsync(TierSnapshot.Of(scene.Directory).Restore);
        }

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("d/tagged"), StringComparison.Ordinal);
        string plain = await scene.GetAsync("plain");
        Assert.Equal(what != "all", plain.EndsWith("detail=disk", StringComparison.Ordinal));
        await scene.Service.IsAtRestAsync();
    }

    /// <summary>Nothing but the journal knows of the purge, and nothing but the key of the prefixes.</summary>
    [Fact]
    public async Task PurgedByPrefix_WithCookiesInItsKey_IsNotFoundAgain()
    {
        const string Cookie = "Cookie: kind=x/y\r\n";
        await using DiskScene scene = await DiskScene.StartAsync("--Cache:KeyCookies=kind", "--Cache:IgnoredCookies=*");
        await scene.GetAsync("d/e/a?q=/z/", Cookie);
        await scene.DemoteAsync("d/b");
        await scene.RestartAsync();
        foreach (string other in (string[])["x/", "cookie=kind=x/", "d/e/a/", "e/"])
        {
            scene.Service.Host.Cache.Purger.Purge(Purge.OfPrefix(other, isSoft: false));
        }

        await scene.Service.Host.Cache.Disk!.SettledAsync();
        await scene.RestartAsync(TierSnapshot.Of(scene.Directory).Restore);
        Assert.EndsWith("detail=disk", await scene.GetAsync("d/e/a?q=/z/", Cookie), StringComparison.Ordinal);

        scene.Service.Host.Cache.Purger.Purge(Purge.OfPrefix("d/e/", isSoft: false));
        await scene.Service.Host.Cache.Disk!.SettledAsync();
        await scene.RestartAsync(TierSnapshot.Of(scene.Directory).Restore);

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("d/e/a?q=/z/", Cookie), StringComparison.Ordinal);
        Assert.EndsWith("detail=disk", await scene.GetAsync("d/b"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task FetchedAfterAPurge_IsFoundAgain()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("tagged");
        scene.Service.Host.Cache.Purger.Purge(Purge.OfTag("red", isSoft: false));
        await scene.DemoteAsync("tagged", by: "another");

        Assert.EndsWith("detail=disk", await scene.GetAsync("tagged"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Promoted_CanStillBePurgedByItsTags()
    {
        await using DiskScene scene = await DiskScene.StartAsync();
        await scene.DemoteAsync("tagged");
        await scene.RestartAsync();
        Assert.EndsWith("detail=disk", await scene.GetAsync("tagged"), StringComparison.Ordinal);
        Assert.StartsWith("CachingService; hit; ttl=", await scene.GetAsync("tagged"), StringComparison.Ordinal);

        scene.Service.Host.Cache.Purger.Purge(Purge.OfTag("red", isSoft: false));

        Assert.StartsWith("CachingService; fwd=uri-miss", await scene.GetAsync("tagged"), StringComparison.Ordinal);
    }
}
