using System.Collections.Concurrent;
using System.Globalization;
using System.Text.Json;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Disk;
using IoUringCache.Clustering;

namespace CachingService.Tests.Cluster;

/// <summary>
/// An origin whose objects have versions, a NATS server, and nodes with a disk each, on wires of their own to the server. An object's body is its
/// name and version; its tag is its first letter.
/// </summary>
internal sealed class ClusterScene : IAsyncDisposable
{
    private readonly ConcurrentDictionary<string, int> _versions = new();
    private readonly string[] _options;
    private readonly TokenFile _token = new();

    private ClusterScene(NatsServer nats, string[] options)
    {
        (Nats, _options) = (nats, options);
        Origin = new(AnswerAsync);
    }

    public NatsServer Nats { get; }

    public ScriptedOrigin Origin { get; }

    /// <summary>The origin answers 503 to everything.</summary>
    public bool IsFailing { get; set; }

    public List<ClusterNode> Nodes { get; } = [];

    /// <summary>Starts the nodes one after the other, each until it knows of all purges.</summary>
    public static async Task<ClusterScene> StartAsync(int nodes, params string[] options)
    {
        ClusterScene scene = new(await NatsServer.StartAsync(), options);
        for (int number = 0; number < nodes; number++)
        {
            await (await scene.AddAsync()).IsInAsync(ClusterState.Following);
        }

        return scene;
    }

    /// <summary>The first node is the origin of the others, which have it for a shield.</summary>
    public static async Task<ClusterScene> StartWithShieldAsync(int nodes, params string[] options)
    {
        ClusterScene scene = await StartAsync(1, options);
        for (int number = 1; number < nodes; number++)
        {
            ClusterNode node = await scene.AddAsync(
                $"http://{scene.Nodes[0].PublicWire.Address}/object", "--Cache:Cluster:HasShields=true", "--Cache:OriginEjectAfter=0");
            await node.IsInAsync(ClusterState.Following);
        }

        return scene;
    }

    public Task<ClusterNode> AddAsync() => AddAsync(Origin.Url);

    /// <summary>The origin has something new.</summary>
    /// <returns>The version.</returns>
    public int Write(string name) => _versions.AddOrUpdate(name, 2, static (_, version) => version + 1);

    public int VersionOf(string name) => _versions.GetOrAdd(name, 1);

    public async ValueTask DisposeAsync()
    {
        foreach (ClusterNode node in Nodes)
        {
            await node.DisposeAsync();
        }

        await Nats.DisposeAsync();
        await Origin.DisposeAsync();
        _token.Dispose();
    }

    private async Task<ClusterNode> AddAsync(string origin, params string[] options)
    {
        ClusterNode node = new($"n{Nodes.Count}", new(Nats.Port), origin, [_token.Option, .. _options, .. options]);
        Nodes.Add(node);
        await node.StartAsync();
        return node;
    }

    private Task AnswerAsync(OriginExchange exchange)
    {
        string name = exchange.Target[1..];
        if (exchange.Method == "POST")
        {
            Write(name);
            return exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }

        if (IsFailing)
        {
            return exchange.SendAsync("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        }

        string version = $"\"{VersionOf(name)}\"";
        string fields = $"Cache-Control: max-age=86400, stale-if-error=86400, stale-while-revalidate=60\r\nETag: {version}\r\nSurrogate-Key: {name[0]}\r\n";
        return exchange.Field("If-None-Match") == version
            ? exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\n{fields}\r\n")
            : exchange.AnswerAsync($"{name} {VersionOf(name)}", fields);
    }
}

/// <summary>One node of the scene. Its disk outlives its process.</summary>
/// <param name="name">Of the node.</param>
/// <param name="wire">To NATS; disposed of with this.</param>
/// <param name="origin">Address of the origin.</param>
/// <param name="options">Further ones.</param>
internal sealed class ClusterNode(string name, CutWire wire, string origin, string[] options) : IAsyncDisposable
{
    public string Name => name;

    public CutWire Wire => wire;

    /// <summary>To its public address, which is another one after each start.</summary>
    public CutWire PublicWire { get; } = new(port: 0);

    public string Directory { get; } = System.IO.Directory.CreateTempSubdirectory("node-").FullName;

    public bool IsUp { get; private set; }

    public TestService Service { get; private set; } = null!;

    public async Task StartAsync()
    {
        Service = await TestService.StartAsync(
            origin,
            [
                $"--Cache:Cluster:Nats={wire.Url}", $"--Cache:Cluster:Node={name}", $"--Cache:DiskPath={Directory}", "--Cache:DiskBytes=4MiB",
                "--Cache:DiskSegmentBytes=1MiB", "--Cache:DiskMinObjectBytes=1", .. options,
            ]);
        PublicWire.Port = new Uri(Service.Url).Port;
        IsUp = true;
    }

    public async Task StopAsync()
    {
        IsUp = false;
        PublicWire.Port = 0;
        await Service.DisposeAsync();
    }

    /// <summary>Ends the service as SIGKILL does: without a message to other nodes, and with its files as they were at the time of the kill.</summary>
    public async Task KillAsync()
    {
        wire.Cut();
        TierSnapshot kept = TierSnapshot.Of(Directory);
        await StopAsync();
        kept.Restore();
    }

    /// <summary>The version of an object that it serves.</summary>
    public async Task<int> GetAsync(string key) => (await AskAsync(key)).Version;

    public async Task<(int Version, string CacheStatus)> AskAsync(string key)
    {
        (RawResponse head, string body) = await Service.FetchAsync($"/object/{key}");
        Assert.Equal(200, head.Status);
        Assert.StartsWith(key + " ", body);
        return (int.Parse(body[(key.Length + 1)..], CultureInfo.InvariantCulture), head.CacheStatus);
    }

    /// <summary>Has an object on the disk, where memory has room for one.</summary>
    public async Task DemoteAsync(string key)
    {
        await GetAsync(key);
        await Service.IsAtRestAsync();
        DiskTier disk = Service.Host.Cache.Disk!;
        long before = disk.Metrics.Demotions;
        await GetAsync("other-" + key);
        await Eventually.TrueAsync(() => disk.Metrics.Demotions > before && disk.WaitingBytes == 0, $"{key} is on the disk");
    }

    /// <summary>Purges, and waits for all nodes.</summary>
    /// <returns>The status, and those that have not applied it.</returns>
    public async Task<(int Status, string[] Missing)> PurgeAsync(string query)
    {
        (RawResponse head, string body) = await Service.AskAdminAsync("POST", $"/purge?{query}");
        JsonElement answer = JsonDocument.Parse(body).RootElement;
        return (head.Status, answer.TryGetProperty("missing", out JsonElement missing)
            ? [.. missing.EnumerateArray().Select(static node => node.GetString()!)]
            : []);
    }

    public async Task<JsonElement> DescribeAsync() =>
        JsonDocument.Parse((await Service.AskAdminAsync("GET", "/cluster")).Body).RootElement;

    public async Task<(int Status, string Body)> AskReadyAsync()
    {
        (RawResponse head, string body) = await Service.AskAdminAsync("GET", "/ready");
        return (head.Status, body);
    }

    public Task IsInAsync(ClusterState state) => Eventually.TrueAsync(() => Service.Host.Cluster!.State == state, $"{name} is in {state}");

    public async ValueTask DisposeAsync()
    {
        if (IsUp)
        {
            await StopAsync();
        }

        await wire.DisposeAsync();
        await PublicWire.DisposeAsync();
        System.IO.Directory.Delete(Directory, recursive: true);
    }
}
