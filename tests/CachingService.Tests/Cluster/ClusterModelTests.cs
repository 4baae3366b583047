using System.Buffers.Binary;
using System.Globalization;
using IoUringCache.Caching.Disk;
using IoUringCache.Clustering;

namespace CachingService.Tests.Cluster;

/// <summary>
/// Three nodes with disks, beside each other or one as the shield of two, under random writes at the origin, purges, stops, kills, starts, cut wires
/// and a NATS server that is killed. After a purge that was answered with 200 and <c>wait</c>, no node serves what the origin had before it, in
/// whatever state it is; after a soft one, none calls that fresh. <c>CLUSTER_STEPS=N</c> takes that many steps; <c>CLUSTER_SEED=SEED</c>, which every run
/// prints, repeats a schedule.
/// </summary>
public sealed class ClusterModelTests
{
    private const int NodeCount = 3;
    private const int QuickSteps = 10_000;

    /// <summary>Purges until nodes that could not say that they stopped are not waited for.</summary>
    private const int MaxTries = 10;

    /// <summary>Pauses of 10 ms in which nodes that are well answer.</summary>
    private const int MaxPauses = 10;

    private static readonly string[] s_keys = ["a/0", "a/1", "a/2", "b/0", "b/1", "b/2", "c/0", "c/1", "c/2"];

    /// <summary>What every node must have got beyond, by key.</summary>
    private readonly Dictionary<string, int> _floors = s_keys.ToDictionary(static key => key, static _ => 1);

    /// <summary>What every node must have got beyond, of what it calls fresh.</summary>
    private readonly Dictionary<string, int> _freshFloors = s_keys.ToDictionary(static key => key, static _ => 1);

    private ClusterScene _scene = null!;
    private Random _random = null!;
    private bool _hasShield;
    private bool _isNatsUp = true;
    private int _purges;
    private int _restarts;
    private int _kills;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Purges_ThatWereAnswered_HoldOnEveryNode(bool hasShield)
    {
        int steps = int.Parse(Environment.GetEnvironmentVariable("CLUSTER_STEPS") ?? $"{QuickSteps}", CultureInfo.InvariantCulture);
        await RunAsync(steps, hasShield, doesForget: false);
        Assert.True(
            _purges > steps / 50 && _restarts > steps / 500 && _kills > steps / 1000,
            $"{_purges} purges, {_restarts} restarts, {_kills} kills: this schedule says little");
    }

    [Fact]
    public async Task Node_ThatForgetsWhereItWas_IsFound()
    {
        // Mostly within some thousand steps; it ends when it is found.
        Exception? found = await Record.ExceptionAsync(() => RunAsync(10 * QuickSteps, hasShield: false, doesForget: true));

        Assert.Contains("was purged", Assert.IsAssignableFrom<Xunit.Sdk.IAssertionException>(found) is Exception failure ? failure.Message : "");
    }

    private async Task RunAsync(int steps, bool hasShield, bool doesForget)
    {
        int seed = Environment.GetEnvironmentVariable("CLUSTER_SEED") is { } text ? int.Parse(text, CultureInfo.InvariantCulture) : Random.Shared.Next();
        TestContext.Current.TestOutputHelper?.WriteLine($"CLUSTER_SEED={seed} CLUSTER_STEPS={steps}");
        _random = new(seed);
        string[] options = ["--Cache:Cluster:WhenCutOff=Validate", "--Cache:MaxObjects=3", "--Cache:ForwardTagsTo=127.0.0.1"];
        await using ClusterScene scene = _scene = await (hasShield
            ? ClusterScene.StartWithShieldAsync(NodeCount, options)
            : ClusterScene.StartAsync(NodeCount, options));
        _hasShield = hasShield;
        for (int step = 0; step < steps; step++)
        {
            await StepAsync(doesForget);
        }

        await HealAsync();
        for (int tries = 1; await PurgeAsync(scene.Nodes[0], "all") is { Status: not 200 } answer; tries++)
        {
            Assert.True(tries < MaxTries, $"the cluster did not heal: {answer.Status}, {string.Join(",", answer.Missing)} {Describe()}");
        }

        foreach (ClusterNode node in scene.Nodes)
        {
            foreach (string key in s_keys)
            {
                Assert.Equal(scene.VersionOf(key), await node.GetAsync(key));
            }
        }
    }

    private async Task StepAsync(bool doesForget)
    {
        ClusterNode node = _scene.Nodes[_random.Next(NodeCount)];
        string key = s_keys[_random.Next(s_keys.Length)];
        switch (_random.Next(1000))
        {
            case < 780:
                await CheckAsync(node, key);
                break;
            case < 875:
                _scene.Write(key);
                break;
            case < 942 when node.IsUp:
                await PurgeAsync(node, _random.Next(10) switch
                {
                    < 6 => $"key={key}",
                    < 8 => $"tag={key[0]}",
                    8 => $"prefix={key[..2]}",
                    _ => "all",
                } + (_random.Next(4) == 0 ? "&soft" : ""));
                break;
            case >= 942 and < 948 when node.IsUp:
                await node.StopAsync();
                break;
            case >= 948 and < 954 when node.IsUp:
                await node.KillAsync();
                _kills++;
                break;
            case >= 954 and < 968 when _scene.Nodes.Find(static other => !other.IsUp) is { } down:
                await StartAsync(down, doesForget);
                break;
            case 968 or 969:
                node.Wire.Cut();
                break;
            case >= 970 and < 980:
                _scene.Nodes.ForEach(static other => other.Wire.Mend());
                break;
            case >= 980 and < 985:
                Advance(TimeSpan.FromSeconds(_random.Next(1, 4)));
                break;
            case 985 when _isNatsUp:
                await _scene.Nats.KillAsync();
                _isNatsUp = false;
                break;
            case > 985:
                await StartNatsAsync();
                break;
        }
    }

    private async Task CheckAsync(ClusterNode node, string key)
    {
        if (!node.IsUp || (_hasShield && !_scene.Nodes[0].IsUp))
        {
            return; // What a node has is its own only while its shield can confirm it.
        }

        (int version, string status) = await node.AskAsync(key);
        int floor = (status.Contains("ttl=-", StringComparison.Ordinal) ? _floors : _freshFloors)[key];
        Assert.True(
            version >= floor && version <= _scene.VersionOf(key),
            $"{node.Name} in {node.Service.Host.Cluster!.State} served version {version} of {key} ({status}); what was before {floor} was purged");
    }

    private async Task<(int Status, string[] Missing)> PurgeAsync(ClusterNode node, string what)
    {
        string scope = what.Split('&')[0];
        Dictionary<string, int> before = s_keys.Where(key => scope == "all" || scope == $"key={key}" || scope == $"tag={key[0]}" || scope == $"prefix={key[..2]}")
            .ToDictionary(static key => key, _scene.VersionOf);
        Task<(int Status, string[] Missing)> purge = node.PurgeAsync($"{what}&wait=10s");

        await AdvanceUntilAsync(purge);
        (int status, string[] missing) = await purge;
        if (status == 200)
        {
            _purges++;
            foreach ((string key, int version) in before)
            {
                _freshFloors[key] = Math.Max(_freshFloors[key], version);
                if (scope == what)
                {
                    _floors[key] = _freshFloors[key];
                }
            }
        }

        return (status, missing);
    }

    private async Task StartAsync(ClusterNode node, bool doesForget)
    {
        if (doesForget)
        {
            // As if it had applied everything.
            string path = Path.Combine(node.Directory, "purges-applied");
            byte[] block = await File.ReadAllBytesAsync(path);
            BinaryPrimitives.WriteInt64LittleEndian(block.AsSpan(20), _scene.Nodes.Max(static other => other.IsUp ? other.Service.Host.Cluster!.Applied : 0));
            BinaryPrimitives.WriteUInt32LittleEndian(block.AsSpan(8), Crc32C.Of(block.AsSpan(12)));
            await File.WriteAllBytesAsync(path, block);
        }

        await node.StartAsync();
        if (_isNatsUp)
        {
            // What is asked for before that is revalidated, and says nothing of the place.
            node.Wire.Mend();
            await AdvanceUntilAsync(node.IsInAsync(ClusterState.Following));
        }

        _restarts++;
    }

    private string Describe() => string.Join("; ", _scene.Nodes.Where(static node => node.IsUp).Select(static node =>
        $"{node.Name}: {node.Service.Host.Cluster!.State}, applied {node.Service.Host.Cluster.Applied}, unsent {node.Service.Host.Cluster.Unsent}, "
        + $"fault {node.Service.Host.Cluster.Fault ?? "none"}, hears {string.Join(" ", node.Service.Host.Cluster.Nodes.Select(static other => $"{other.Name} {other.Applied}"))}"));

    /// <summary>
    /// Waits for what comes in some milliseconds where it can. Where it cannot (a node, or the shield of one, is cut off, was killed, or could not say
    /// that it stopped), time has to go on, for all nodes alike.
    /// </summary>
    private async Task AdvanceUntilAsync(Task done)
    {
        using PeriodicTimer pause = new(TimeSpan.FromMilliseconds(10));
        for (int pauses = 1; await Task.WhenAny(done, pause.WaitForNextTickAsync(TestContext.Current.CancellationToken).AsTask()) != done; pauses++)
        {
            if (pauses > MaxPauses || !_isNatsUp || _scene.Nodes.Any(static other => other.IsUp && other.Service.Host.Cluster!.Fault is not null))
            {
                Advance(TimeSpan.FromSeconds(1));
            }
        }

        await done;
    }

    /// <summary>The clocks of all nodes go on, in some order.</summary>
    private void Advance(TimeSpan by)
    {
        ClusterNode[] nodes = [.. _scene.Nodes.Where(static node => node.IsUp)];
        _random.Shuffle(nodes);
        foreach (ClusterNode node in nodes)
        {
            node.Service.Time.Advance(by);
        }
    }

    private async Task StartNatsAsync()
    {
        if (!_isNatsUp)
        {
            await _scene.Nats.StartAsync();
            _isNatsUp = true;
        }
    }

    private async Task HealAsync()
    {
        await StartNatsAsync();
        foreach (ClusterNode node in _scene.Nodes)
        {
            node.Wire.Mend();
            if (!node.IsUp)
            {
                await node.StartAsync();
            }
        }

        foreach (ClusterNode node in _scene.Nodes)
        {
            await node.IsInAsync(ClusterState.Following);
        }
    }
}
