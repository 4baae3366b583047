using System.Text;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;
using IoUringCache.Clustering;

namespace CachingService.Tests.Cluster;

/// <summary>What the nodes of a cluster make of purges of a key that others have, of a prefix, and of what they do not know.</summary>
public sealed class PurgeScopeTests
{
    [Fact]
    public async Task Purge_OfAKeyThatOnlyAnotherNodeHas_IsNo404()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        Assert.Equal(1, await scene.Nodes[1].GetAsync("a"));

        (RawResponse head, string body) = await scene.Nodes[0].Service.AskAdminAsync("POST", "/purge?key=a&wait=30s");

        Assert.Equal(200, head.Status);
        Assert.Contains("\"objects\": 0", body);
        Assert.Empty(scene.Nodes[1].Service.Host.Cache.Store.FindAll("a"));
    }

    /// <summary>A message of a version that knows more purges, or longer prefixes, counts as one of everything.</summary>
    [Theory]
    [InlineData("{\"from\":\"x\",\"scope\":\"prefix\",\"name\":\"a/\",\"soft\":true}", true)]
    [InlineData("{\"from\":\"x\",\"scope\":\"prefix\",\"name\":\"1/2/3/4/5/6/7/8/9/\",\"soft\":true}", false)]
    [InlineData("{\"from\":\"x\",\"scope\":\"prefix\",\"name\":\"a\",\"soft\":true}", false)]
    [InlineData("{\"from\":\"x\",\"scope\":\"suffix\",\"name\":\"a/\",\"soft\":true}", false)]
    [InlineData("{\"from\":\"x\",\"scope\":3,\"name\":\"a/\",\"soft\":true}", false)]
    public void Message_IsUnderstoodOrNot(string text, bool isUnderstood) =>
        Assert.Equal(isUnderstood ? new PurgeMessage("x", PurgeScope.Prefix, "a/", true) : null, PurgeMessage.Read(Encoding.UTF8.GetBytes(text)));

    [Fact]
    public async Task Node_ThatWasDownDuringAPurgeOfAPrefix_DoesNotServeItFromItsDisk()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2, "--Cache:MaxObjects=1");
        ClusterNode node = scene.Nodes[1];
        await node.DemoteAsync("d/a");
        await node.DemoteAsync("c/a");
        await node.StopAsync();
        scene.Write("d/a");
        scene.Write("c/a");
        await scene.Nodes[0].PurgeAsync("prefix=d/&wait=30s");

        await node.StartAsync();
        await node.IsInAsync(ClusterState.Following);

        Assert.Equal((2, 1), (await node.GetAsync("d/a"), await node.GetAsync("c/a")));
    }
}
