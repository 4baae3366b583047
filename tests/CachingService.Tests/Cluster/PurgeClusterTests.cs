using CachingService.Tests.Infrastructure;
using IoUringCache.Clustering;
using NATS.Client.JetStream.Models;

namespace CachingService.Tests.Cluster;

/// <summary>Nodes that tell each other of purges: what becomes of those that were away, cut off, or find another log.</summary>
public sealed class PurgeClusterTests
{
    private const string Stream = "cache-purges";

    public static TheoryData<string> Purges => ["key=d/a", "tag=d", "prefix=d/", "all", "key=d/a&soft", "tag=d&soft", "prefix=d/&soft", "all&soft"];

    [Theory]
    [MemberData(nameof(Purges))]
    public async Task Purge_WithWait_HasReachedEveryNode(string query)
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(3);
        await AllGetAsync(scene, "d/a", 1);
        scene.Write("d/a");

        (int status, string[] missing) = await scene.Nodes[0].PurgeAsync($"{query}&wait=30s");

        Assert.Equal(200, status);
        Assert.Empty(missing);
        foreach (ClusterNode node in scene.Nodes)
        {
            Assert.DoesNotMatch("ttl=[1-9]", (await node.AskAsync("d/a")).CacheStatus);
        }

        // A soft purge may serve once more what was there, while it is being validated.
        foreach (ClusterNode node in scene.Nodes)
        {
            await Eventually.TrueAsync(() => node.Service.Host.Cache.Fills.ActiveCount == 0, "validated");
            Assert.Equal(2, await node.GetAsync("d/a"));
        }
    }

    /// <summary>What a node fetches from a shield that has not heard of the purge yet must not stay.</summary>
    [Theory]
    [MemberData(nameof(Purges))]
    public async Task Purge_BehindAShieldThatIsLate_HoldsAsSoonAsTheShieldHasIt(string query)
    {
        await using ClusterScene scene = await ClusterScene.StartWithShieldAsync(3, "--Cache:ForwardTagsTo=127.0.0.1");
        (ClusterNode shield, ClusterNode node, ClusterNode other) = (scene.Nodes[0], scene.Nodes[1], scene.Nodes[2]);
        await AllGetAsync(scene, "d/a", 1);
        scene.Write("d/a");
        shield.Wire.Cut();

        // Each node has the purge and fetches what the shield still has, as something new.
        Assert.Equal(200, (await node.PurgeAsync(query)).Status);
        await Eventually.TrueAsync(() => other.Service.Host.Cluster!.Nodes.Any(report => report.Name == other.Name && report.Received == 1), "read");
        foreach (ClusterNode edge in new[] { node, other })
        {
            await edge.GetAsync("d/a");
            await Eventually.TrueAsync(() => edge.Service.Host.Cache.Fills.ActiveCount == 0, "validated");
            Assert.Equal(1, await edge.GetAsync("d/a"));
            Assert.Equal(0, edge.Service.Host.Cluster!.Applied);
        }

        Task<(int Status, string[] Missing)> late = node.PurgeAsync("key=z&wait=1s");
        await Eventually.TrueAsync(() => other.Service.Host.Cluster!.Nodes.Any(report => report.Name == other.Name && report.Received == 2), "read");
        node.Service.Time.Advance(TimeSpan.FromSeconds(1));
        (int status, string[] missing) = await late;
        Assert.Equal((504, "n0,n1,n2"), (status, string.Join(",", missing)));

        shield.Wire.Mend();
        await Eventually.TrueAsync(() => scene.Nodes.TrueForAll(static one => one.Service.Host.Cluster!.Applied == 2), "applied by all");

        // A soft purge may serve once more what there was while it is validated: first the node's, then the shield's.
        foreach (ClusterNode edge in new[] { node, other, node, other })
        {
            await edge.GetAsync("d/a");
            await Eventually.TrueAsync(() => edge.Service.Host.Cache.Fills.ActiveCount == 0, "validated");
            await Eventually.TrueAsync(() => shield.Service.Host.Cache.Fills.ActiveCount == 0, "validated by the shield");
        }

        foreach (ClusterNode edge in new[] { node, other })
        {
            Assert.Equal(2, await edge.GetAsync("d/a"));
        }
    }

    /// <summary>One request to the origin for two nodes that ask at once, and one for each object.</summary>
    [Fact]
    public async Task Nodes_BehindAShield_ShareItsFetch()
    {
        await using ClusterScene scene = await ClusterScene.StartWithShieldAsync(3, "--Cache:ForwardTagsTo=127.0.0.1");

        for (int number = 0; number < 20; number++)
        {
            string key = $"k{number}";
            await Task.WhenAll(scene.Nodes[1].GetAsync(key), scene.Nodes[2].GetAsync(key));
        }

        Assert.Equal(20, scene.Origin.RequestCount);
        (_, string status) = await scene.Nodes[1].AskAsync("k0");
        Assert.Matches("^CachingService; fwd=uri-miss; fwd-status=200; stored, CachingService; hit; ttl=[0-9]+$|^CachingService; .*, CachingService; hit", status);
    }

    [Fact]
    public async Task Purge_WithoutWait_IsAnsweredWithItsNumberInTheLog()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1);

        string first = (await scene.Nodes[0].Service.AskAdminAsync("POST", "/purge?key=a")).Body;
        string second = (await scene.Nodes[0].Service.AskAdminAsync("POST", "/purge?key=a")).Body;

        Assert.Contains("\"sequence\": 1", first);
        Assert.Contains("\"sequence\": 2", second);
        Assert.DoesNotContain("missing", second);
    }

    [Fact]
    public async Task AnswerThatInvalidates_IsToldToOtherNodes()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        await AllGetAsync(scene, "a", 1);

        await scene.Nodes[0].Service.FetchAsync("/object/a", "Content-Length: 0\r\n", "POST");

        await Eventually.TrueAsync(() => scene.Nodes[1].Service.Host.Cluster!.Applied == 1, "the other node has applied it");
        Assert.Equal(2, await scene.Nodes[1].GetAsync("a"));
    }

    [Fact]
    public async Task Node_ThatWasDownDuringAPurge_DoesNotServeItFromItsDisk()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2, "--Cache:MaxObjects=1");
        ClusterNode node = scene.Nodes[1];
        await node.DemoteAsync("a");
        await node.DemoteAsync("c");
        await node.StopAsync();
        scene.Write("a");
        scene.Write("c");
        await scene.Nodes[0].PurgeAsync("key=a&wait=30s");

        await node.StartAsync();
        await node.IsInAsync(ClusterState.Following);

        Assert.Equal(2, await node.GetAsync("a"));

        // Nobody has purged this one: it comes from the disk, so that the test could fail.
        Assert.Equal(1, await node.GetAsync("c"));
    }

    [Fact]
    public async Task Node_ThatStarts_IsReadyWhenItHasReadTheLog()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1, "--Cache:MaxObjects=1");
        ClusterNode node = scene.Nodes[0];
        await node.DemoteAsync("a");
        await node.StopAsync();
        node.Wire.Cut();
        await node.StartAsync();

        Assert.Equal((503, "reading the log of purges"), await node.AskReadyAsync());
        int asked = scene.Origin.RequestCount;
        await node.AskAsync("a");
        Assert.Equal(asked + 1, scene.Origin.RequestCount);

        node.Wire.Mend();
        await node.IsInAsync(ClusterState.Following);
        Assert.Equal((200, "OK"), await node.AskReadyAsync());
        await node.AskAsync("a");
        Assert.Equal(asked + 1, scene.Origin.RequestCount);
    }

    [Fact]
    public async Task Node_ThatStartsWithoutTheLog_ValidatesWhatIsOlderThanItself()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2, "--Cache:MaxObjects=1", "--Cache:Cluster:WhenCutOff=Serve");
        ClusterNode node = scene.Nodes[1];
        await node.DemoteAsync("a");
        await node.DemoteAsync("c");
        await node.StopAsync();
        scene.Write("a");
        await scene.Nodes[0].PurgeAsync("key=a&wait=30s");
        node.Wire.Cut();

        await node.StartAsync();
        node.Service.Time.Advance(TimeSpan.FromSeconds(11));

        await node.IsInAsync(ClusterState.CutOff);
        Assert.Equal(2, await node.GetAsync("a"));
        int asked = scene.Origin.RequestCount;
        Assert.Equal(1, await node.GetAsync("c"));
        Assert.Equal(asked + 1, scene.Origin.RequestCount);

        // What it has fetched or validated itself it serves.
        Assert.Equal(1, await node.GetAsync("c"));
        Assert.Equal(asked + 1, scene.Origin.RequestCount);
    }

    [Theory]
    [InlineData("Serve", 1)]
    [InlineData("Validate", 2)]
    public async Task Node_ThatIsCutOff_SaysSoAndServesAsItsOptionHasIt(string use, int version)
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1, $"--Cache:Cluster:WhenCutOff={use}");
        ClusterNode node = scene.Nodes[0];
        Assert.Equal(1, await node.GetAsync("a"));
        scene.Write("a");
        node.Wire.Cut();

        node.Service.Time.Advance(TimeSpan.FromSeconds(11));

        await node.IsInAsync(ClusterState.CutOff);
        Assert.Equal((200, "degraded: cut off from the log of purges"), await node.AskReadyAsync());
        Assert.Equal("cutOff", (await node.DescribeAsync()).GetProperty("state").GetString());
        Assert.Equal(version, await node.GetAsync("a"));

        node.Wire.Mend();
        await node.IsInAsync(ClusterState.Following);
        int asked = scene.Origin.RequestCount;
        Assert.Equal(version, await node.GetAsync("a"));
        Assert.Equal(asked, scene.Origin.RequestCount);
    }

    [Fact]
    public async Task Node_ThatMayOnlyValidate_ServesNothingStaleAndSharesNoFetch()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1, "--Cache:Cluster:WhenCutOff=Validate");
        ClusterNode node = scene.Nodes[0];
        await node.GetAsync("a");
        node.Wire.Cut();
        node.Service.Time.Advance(TimeSpan.FromSeconds(11));
        await node.IsInAsync(ClusterState.CutOff);
        int asked = scene.Origin.RequestCount;

        await Task.WhenAll(Enumerable.Range(0, 5).Select(_ => node.GetAsync("a")));
        Assert.Equal(asked + 5, scene.Origin.RequestCount);

        // Its Cache-Control would allow it to stand in.
        scene.IsFailing = true;
        Assert.Equal(503, (await node.Service.FetchAsync("/object/a")).Head.Status);
    }

    [Fact]
    public async Task Purge_OnANodeThatIsCutOff_IsToldWhenTheLogIsBack()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        await AllGetAsync(scene, "a", 1);
        scene.Write("a");
        scene.Nodes[0].Wire.Cut();

        Task<(RawResponse Head, string Body)> purge = scene.Nodes[0].Service.AskAdminAsync("POST", "/purge?key=a");
        FakeTime time = scene.Nodes[0].Service.Time;
        await Eventually.TrueAsync(() => scene.Nodes[0].Service.Host.Cluster!.Unsent == 1 && time.DueWithin(TimeSpan.FromSeconds(6)), "it waits");
        time.Advance(TimeSpan.FromSeconds(6));
        (RawResponse head, string body) = await purge;
        Assert.Equal(503, head.Status);
        Assert.Contains("applied on this node", body);
        Assert.Equal(2, await scene.Nodes[0].GetAsync("a"));

        scene.Nodes[0].Wire.Mend();
        await Eventually.TrueAsync(() => scene.Nodes[1].Service.Host.Cluster!.Applied == 1, "the other node has applied it");
        Assert.Equal(2, await scene.Nodes[1].GetAsync("a"));
    }

    [Fact]
    public async Task Purge_WithWait_NamesTheNodeThatHasNotAppliedIt()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        scene.Nodes[1].Wire.Cut();

        Task<(int Status, string[] Missing)> purge = scene.Nodes[0].PurgeAsync("key=a&wait=5s");
        await Eventually.TrueAsync(
            () => scene.Nodes[0].Service.Host.Cluster!.Nodes.Any(static node => node is { Name: "n0", Applied: 1 }), "this node has heard its own report");
        scene.Nodes[0].Service.Time.Advance(TimeSpan.FromSeconds(5));

        Assert.Equal((504, "n1"), await purge is var (status, missing) ? (status, string.Join(",", missing)) : default);

        // For that long the other node may serve as before.
        scene.Nodes[0].Service.Time.Advance(TimeSpan.FromSeconds(16));
        Assert.Equal(200, (await scene.Nodes[0].PurgeAsync("key=a&wait=30s")).Status);
    }

    [Fact]
    public async Task Node_ThatStops_IsNotWaitedFor()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        await scene.Nodes[1].StopAsync();

        Assert.Equal(200, (await scene.Nodes[0].PurgeAsync("key=a&wait=30s")).Status);
    }

    [Theory]
    [InlineData("deleted")]
    [InlineData("emptied")]
    [InlineData("foreign message")]
    public async Task Log_ThatCannotBeFollowed_HasEverythingValidated(string what)
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1);
        ClusterNode node = scene.Nodes[0];
        await node.PurgeAsync("key=z");
        await node.GetAsync("a");
        int asked = scene.Origin.RequestCount;
        node.Wire.Cut();
        await scene.Nats.UseAsync(async streams =>
        {
            switch (what)
            {
                case "deleted":
                    await streams.DeleteStreamAsync(Stream);
                    break;
                case "emptied":
                    await streams.PublishAsync("cache.purges", "lost"u8.ToArray());
                    await streams.PurgeStreamAsync(Stream, new StreamPurgeRequest());
                    break;
                default:
                    await streams.PublishAsync("cache.purges", "{}"u8.ToArray());
                    break;
            }
        });

        node.Wire.Mend();
        await Eventually.TrueAsync(() => node.Service.Log.Warnings.Any(static line => line.Contains("Everything stored is stale now", StringComparison.Ordinal)), "it says so");
        await node.GetAsync("a");
        await Eventually.TrueAsync(() => scene.Origin.RequestCount == asked + 1, "the origin has confirmed it");
        Assert.Equal(200, (await node.PurgeAsync("key=a&wait=30s")).Status);
    }

    [Fact]
    public async Task Node_WithoutItsPlace_HasEverythingOnItsDiskValidated()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(1, "--Cache:MaxObjects=1");
        ClusterNode node = scene.Nodes[0];
        await node.DemoteAsync("a");
        await node.StopAsync();
        File.Delete(Path.Combine(node.Directory, "purges-applied"));
        scene.Write("a");

        await node.StartAsync();
        await node.IsInAsync(ClusterState.Following);

        Assert.Equal(2, await node.GetAsync("a"));
    }

    [Fact]
    public async Task Nats_ThatIsKilledAndComesBack_LosesNoPurge()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        await AllGetAsync(scene, "a", 1);
        scene.Write("a");
        await scene.Nats.KillAsync();
        Task<(int Status, string[] Missing)> purge = scene.Nodes[0].PurgeAsync("key=a&wait=50s");
        await Eventually.TrueAsync(() => scene.Nodes[0].Service.Host.Cluster!.Unsent == 1, "it waits");

        await scene.Nats.StartAsync();

        Assert.Equal(200, (await purge).Status);
        Assert.Equal(2, await scene.Nodes[1].GetAsync("a"));
    }

    [Fact]
    public async Task Cluster_IsDescribedByEachNode()
    {
        await using ClusterScene scene = await ClusterScene.StartAsync(2);
        await scene.Nodes[1].GetAsync("a");
        await scene.Nodes[1].GetAsync("a");
        await scene.Nodes[0].PurgeAsync("key=b&wait=30s");

        System.Text.Json.JsonElement answer = await scene.Nodes[0].DescribeAsync();

        Assert.Equal("n0", answer.GetProperty("node").GetString());
        Assert.Equal("following", answer.GetProperty("state").GetString());
        Assert.Equal(["n0", "n1"], answer.GetProperty("nodes").EnumerateArray().Select(static node => node.GetProperty("name").GetString()));
        Assert.All(answer.GetProperty("nodes").EnumerateArray(), static node => Assert.Equal(0, node.GetProperty("lag").GetInt64()));
        Assert.Equal(0.5, answer.GetProperty("nodes")[1].GetProperty("hitRatio").GetDouble());
        string metrics = (await scene.Nodes[1].Service.AskAdminAsync("GET", "/metrics")).Body;
        Assert.Contains("cache_cluster_state 1\n", metrics);
        Assert.Contains("cache_cluster_nodes 2\n", metrics);
        Assert.Contains("cache_cluster_applied_total 1\n", metrics);
    }

    private static async Task AllGetAsync(ClusterScene scene, string key, int version)
    {
        foreach (ClusterNode node in scene.Nodes)
        {
            Assert.Equal(version, await node.GetAsync(key));
            await node.Service.IsAtRestAsync();
        }
    }
}
