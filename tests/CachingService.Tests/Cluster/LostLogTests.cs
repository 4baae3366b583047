using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Cluster;

/// <summary>The log of purges is made anew and numbers from 1 again, and not all nodes find out at once.</summary>
public sealed class LostLogTests
{
    [Fact]
    public async Task Purge_WithWait_NamesTheNodeThatStillCountsInTheLogBefore()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        (ClusterNode node, ClusterNode late) = (scene.Nodes[0], scene.Nodes[1]);
        await LoseLogAsync(scene, late);

        Task<(int Status, string[] Missing)> purge = node.PurgeAsync("key=a&wait=5s");
        await Eventually.TrueAsync(
            () => node.Service.Host.Cluster!.Nodes.Any(static node => node is { Name: "n0", Applied: 1 }), "this node has heard its own report");
        node.Service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal((504, "n1"), await purge is var (status, missing) ? (status, string.Join(",", missing)) : default);
        late.Wire.Mend();
        Assert.Equal(200, (await node.PurgeAsync("key=a&wait=30s")).Status);
    }

    /// <summary>Until the shield has found out, the node may fetch from it what is purged.</summary>
    [Fact]
    public async Task Purge_BehindAShieldThatStillCountsInTheLogBefore_HoldsAsSoonAsTheShieldHasIt()
    {
        await using ClusterScene scene = await ClusterScene.StartWithShieldAsync(2);
        (ClusterNode shield, ClusterNode node) = (scene.Nodes[0], scene.Nodes[1]);
        Assert.Equal(1, await node.GetAsync("a"));
        await node.Service.IsAtRestAsync();
        scene.Write("a");
        await LoseLogAsync(scene, shield);

        foreach ((string key, int number) in new[] { ("a", 1), ("b", 2) })
        {
            // With the second the first counts as applied by all that are not waited for.
            Assert.Equal(200, (await node.PurgeAsync($"key={key}")).Status);
            await Eventually.TrueAsync(() => node.Service.Host.Cluster!.Nodes.Any(report => report.Name == node.Name && report.Received == number), "read");
        }

        Assert.Equal(1, await node.GetAsync("a"));
        await node.Service.IsAtRestAsync();
        shield.Wire.Mend();
        await Eventually.TrueAsync(() => scene.Nodes.TrueForAll(static one => one.Service.Host.Cluster!.Applied == 2), "applied by both");

        // What is stale may be served once more while it is validated: first the node's, then the shield's.
        for (int request = 0; request < 2; request++)
        {
            await node.GetAsync("a");
            await Eventually.TrueAsync(() => node.Service.Host.Cache.Fills.ActiveCount == 0, "validated");
            await Eventually.TrueAsync(() => shield.Service.Host.Cache.Fills.ActiveCount == 0, "validated by the shield");
        }

        Assert.Equal(2, await node.GetAsync("a"));
    }

    /// <summary>One node does not find out.</summary>
    private static async Task LoseLogAsync(ClusterScene scene, ClusterNode late)
    {
        foreach (string key in (string[])["y", "z"])
        {
            Assert.Equal(200, (await scene.Nodes[1].PurgeAsync($"key={key}&wait=30s")).Status);
        }

        late.Wire.Cut();
        await scene.Nats.UseAsync(static async streams => await streams.DeleteStreamAsync("cache-purges"));
    }
}
