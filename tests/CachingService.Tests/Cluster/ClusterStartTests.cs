using System.Diagnostics;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Clustering;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Cluster;

/// <summary>What an operator sees of a cluster that is set up wrongly.</summary>
public sealed class ClusterStartTests
{
    [Theory]
    [InlineData("Cache:Cluster:Nats", "http://nats:4222", "expected nats://host[:port] or tls://host[:port], several separated by commas.")]
    [InlineData("Cache:Cluster:Nats", "nats://a,b", "expected nats://host[:port] or tls://host[:port], several separated by commas.")]
    [InlineData("Cache:Cluster:Name", "a.b", "expected 1 to 64 letters, digits, - and _.")]
    [InlineData("Cache:Cluster:Name", "", "expected 1 to 64 letters, digits, - and _.")]
    [InlineData("Cache:Cluster:CredentialsFile", "/missing", "cannot read '/missing'")]
    [InlineData("Cache:Cluster:CaFile", "/missing", "cannot read '/missing'")]
    [InlineData("Cache:Cluster:MaxSilence", "0s", "expected")]
    [InlineData("Cache:Cluster:WhenCutOff", "Die", "expected one of Serve, Validate.")]
    [InlineData("Cache:Cluster:Replicas", "6", "expected a whole number from 1 to 5.")]
    public void Option_ThatIsWrong_IsNamed(string name, string value, string expected)
    {
        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(Configure(("Cache:Cluster:Nats", "nats://a"), (name, value))));

        Assert.StartsWith($"Option {name}", failure.Message, StringComparison.Ordinal);
        Assert.Contains(expected, failure.Message);
    }

    [Fact]
    public void Password_OfAWrongAddress_IsNotTold()
    {
        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(Configure(("Cache:Cluster:Nats", "nats://cache:secret@nats:4222/path"))));

        Assert.DoesNotContain("secret", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Option_WithoutServers_IsRefused()
    {
        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(Configure(("Cache:Cluster:Node", "a"))));

        Assert.Equal("Option Cache:Cluster:Node: has no use without Cache:Cluster:Nats.", failure.Message);
    }

    [Fact]
    public void Node_WithoutAName_HasTheMachinesAndThePort()
    {
        ClusterOptions options = ServiceOptions.Read(Configure(("Urls", "http://0.0.0.0:8088"), ("Cache:Cluster:Nats", "nats://u:p@a:1,tls://b"))).Cluster!;

        Assert.Equal($"{Environment.MachineName}:8088", options.Node);
        Assert.DoesNotContain("u:p", options.ToString());
    }

    [Fact]
    public async Task Nats_ThatIsAway_IsNoReasonNotToStart()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync("x", "Cache-Control: max-age=60\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Cluster:Nats=nats://127.0.0.1:1", "--Cache:Cluster:Node=n", token.Option);
        await Eventually.TrueAsync(() => service.Host.Cluster!.Fault is not null, "it says why");

        Assert.Equal(503, (await service.AskAdminAsync("GET", "/ready")).Head.Status);
        service.Time.Advance(TimeSpan.FromSeconds(11));

        Assert.Equal(ClusterState.CutOff, service.Host.Cluster!.State);
        Assert.Equal(200, (await service.AskAdminAsync("GET", "/ready")).Head.Status);
        Assert.Equal("x", (await service.FetchAsync("/object/a")).Body);
        Assert.Contains(service.Log.Warnings, static line => line.Contains("No connection to the log of purges cache-purges", StringComparison.Ordinal));
        Assert.Contains(service.Log.Warnings, static line => line.StartsWith("Cut off:", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Nats_ThatIsAwayAndRequired_IsAReasonNotToStart()
    {
        using Process program = ServiceProcess.Start(
            "--Urls=http://127.0.0.1:0", "--Admin:Url=", $"--Transport={TestService.Transport}",
            "--Cache:Cluster:Nats=nats://127.0.0.1:1", "--Cache:Cluster:Required=true", "--Cache:Cluster:MaxSilence=1s");

        (_, string errors) = await ServiceProcess.ReadToExitAsync(program);

        Assert.Equal(1, program.ExitCode);
        Assert.StartsWith("Option Cache:Cluster:Nats: the log of purges was not reached in 00:00:01: ", errors, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Nats_ThatRefusesTheUser_IsTold()
    {
        await using NatsServer nats = await NatsServer.StartAsync("--user", "cache", "--pass", "right");
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync("x", ""));
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Cache:Cluster:Nats=nats://cache:wrong@127.0.0.1:{nats.Port}", "--Cache:Cluster:Node=n");

        await Eventually.TrueAsync(
            () => service.Log.Warnings.Any(static line => line.Contains("uthorization", StringComparison.Ordinal)), "it says that it has no right");
        Assert.DoesNotContain(service.Log.Warnings, static line => line.Contains("wrong", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Nats_WithTls_IsUsedIfItsCertificateIsTrusted(bool isTrusted)
    {
        using TestAuthority authority = new();
        using TestAuthority other = new();
        using X509Certificate2 certificate = authority.Issue();
        (string certificateFile, string keyFile) = authority.Write(certificate, "nats");
        await using NatsServer nats = await NatsServer.StartAsync("--tls", "--tlscert", certificateFile, "--tlskey", keyFile);

        await StartNodeAsync(
            isTrusted ? null : "The remote certificate was rejected",
            $"--Cache:Cluster:Nats=tls://127.0.0.1:{nats.Port}", $"--Cache:Cluster:CaFile={(isTrusted ? authority : other).CaFile}");
    }

    [Fact]
    public async Task Nats_WithoutTls_GetsNothingFromANodeThatWantsIt()
    {
        await using NatsServer nats = await NatsServer.StartAsync();

        await StartNodeAsync("does not support TLS", $"--Cache:Cluster:Nats=tls://127.0.0.1:{nats.Port}");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Nats_WithAnOperator_IsUsedWithCredentialsThatItKnows(bool isKnown)
    {
        using NatsOperator nkeys = new();
        await using NatsServer nats = await NatsServer.StartAsync("--config", nkeys.ConfigurationFile);

        await StartNodeAsync(
            isKnown ? null : "uthorization",
            $"--Cache:Cluster:Nats={nats.Url}", $"--Cache:Cluster:CredentialsFile={nkeys.WriteCredentials(isKnown)}");
    }

    [Fact]
    public async Task OneNodeAlone_SaysThatItIsNoCluster()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync("x", ""));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);

        Assert.Equal(404, (await service.AskAdminAsync("GET", "/cluster")).Head.Status);
        Assert.Equal(404, (await service.AskAdminAsync("POST", "/purge?key=a&wait=5s")).Head.Status);
        Assert.Equal(400, (await service.AskAdminAsync("POST", "/purge?key=a&wait=long")).Head.Status);
    }

    [Theory]
    [InlineData("{\"from\":\"a\",\"scope\":\"key\",\"name\":\"k\",\"soft\":true,\"later\":1}", true)]
    [InlineData("{\"from\":\"a\",\"scope\":\"key\",\"name\":\"k\"}", false)]
    [InlineData("{\"from\":\"a\",\"scope\":\"host\",\"name\":\"k\",\"soft\":true}", false)]
    [InlineData("{\"from\":\"a\",\"scope\":1,\"name\":\"k\",\"soft\":true}", false)]
    [InlineData("{\"from\":\"a\",\"scope\":\"key\",\"name\":null,\"soft\":true}", false)]
    [InlineData("null", false)]
    [InlineData("[]", false)]
    [InlineData("", false)]
    public void Message_IsUnderstoodOrNot(string text, bool isUnderstood) =>
        Assert.Equal(isUnderstood, PurgeMessage.Read(Encoding.UTF8.GetBytes(text)) is { Name: "k", Soft: true });

    [Fact]
    public void Message_CarriesEachCharacterOfAKey()
    {
        string key = string.Concat(Enumerable.Range(1, 255).Select(static code => (char)code));

        Assert.Equal(key, PurgeMessage.Read(new PurgeMessage("a", IoUringCache.Caching.Filling.PurgeScope.Key, key, false).Write())!.Name);
    }

    /// <summary>Starts a node until it knows of all purges, or until it says why it cannot.</summary>
    private static async Task StartNodeAsync(string? reason, params string[] options)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync("x", ""));
        await using TestService service = await TestService.StartAsync(origin.Url, ["--Cache:Cluster:Node=n", .. options]);
        string? NoConnection() => service.Log.Warnings.FirstOrDefault(static line => line.Contains("No connection", StringComparison.Ordinal));
        await Eventually.TrueAsync(() => service.Host.Cluster!.State == ClusterState.Following || NoConnection() is not null, "it is connected, or says why not");

        if (reason is null)
        {
            Assert.Null(NoConnection());
        }
        else
        {
            Assert.Equal(ClusterState.Starting, service.Host.Cluster!.State);
            Assert.Contains(reason, NoConnection());
        }
    }

    private static IConfiguration Configure(params (string Name, string Value)[] values) =>
        new ConfigurationBuilder().AddInMemoryCollection(
            values.GroupBy(static value => value.Name).Select(static group => KeyValuePair.Create(group.Key, (string?)group.Last().Value))).Build();
}
