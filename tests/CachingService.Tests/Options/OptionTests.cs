using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Options;

/// <summary>Wrong options stop the start and are named.</summary>
public sealed class OptionTests
{
    [Theory]
    [InlineData("--Cache:DefaultTtl=-1", "Cache:DefaultTtl")]
    [InlineData("--Cache:DefaultTtl=soon", "Cache:DefaultTtl")]
    [InlineData("--Cache:DefaultTtl=99999999999999", "Cache:DefaultTtl")]
    [InlineData("--Cache:NegativeTtl=-1", "Cache:NegativeTtl")]
    [InlineData("--Cache:NegativeStatuses=404,500", "Cache:NegativeStatuses")]
    [InlineData("--Cache:NegativeStatuses=4xx", "Cache:NegativeStatuses")]
    [InlineData("--Cache:FetchFields=Accept,accept", "Cache:FetchFields")]
    [InlineData("--Cache:FetchFields=X Y", "Cache:FetchFields")]
    [InlineData("--Cache:PassTrace=maybe", "Cache:PassTrace")]
    [InlineData("--Cache:Compress=deflate", "expected some of br, gzip and zstd")]
    [InlineData("--Cache:Compress=br,br", "expected some of br, gzip and zstd")]
    [InlineData("--Cache:CompressTypes=*/json", "Cache:CompressTypes")]
    [InlineData("--Cache:CompressMinBytes=0", "Cache:CompressMinBytes")]
    [InlineData("--Cache:SliceBytes=1KiB", "expected 0 or 64KiB to 1GiB")]
    [InlineData("--Admin:OtlpTraces=1.1", "Admin:OtlpTraces")]
    [InlineData("--Admin:OtlpTraces=-1", "Admin:OtlpTraces")]
    [InlineData("--Admin:OtlpTraces=0.5", "Admin:OtlpTraces: cannot be given without Admin:OtlpEndpoint")]
    [InlineData("--Cache:UnderscoresInFields=on", "Cache:UnderscoresInFields")]
    [InlineData("--Cache:ErrorTtl=x", "Cache:ErrorTtl")]
    [InlineData("--Cache:MaxHeuristicTtl=9999d", "Cache:MaxHeuristicTtl")]
    [InlineData("--Cache:MaxBytes=0", "Cache:MaxBytes")]
    [InlineData("--Cache:MaxBytes=99999999GiB", "Cache:MaxBytes")]
    [InlineData("--Cache:MaxBytes=1.5MiB", "Cache:MaxBytes")]
    [InlineData("--Cache:MaxObjects=0", "Cache:MaxObjects")]
    [InlineData("--Cache:MaxVariants=0", "Cache:MaxVariants")]
    [InlineData("--Cache:MaxVariants=1001", "Cache:MaxVariants")]
    [InlineData("--Cache:FillAttempts=11", "Cache:FillAttempts")]
    [InlineData("--Cache:OriginHeaderTimeout=0", "Cache:OriginHeaderTimeout")]
    [InlineData("--Transport=epoll", "Transport")]
    [InlineData("--Transport=1", "Transport")]
    [InlineData("--Scheduling=Fast", "Scheduling")]
    [InlineData("--Scheduling=ThreadPool,Inline", "Scheduling")]
    [InlineData("--Cache:DefaultTtl=24:00:00", "Cache:DefaultTtl")]
    [InlineData("--Urls=http://localhost:0", "Urls")]
    [InlineData("--Urls=http://192.0.2.1:8080", "Urls")]
    [InlineData("--Urls=http://unix:/nonexistent/directory/cache.sock", "Urls")]
    [InlineData("--Admin:Url=http://192.0.2.1:8080", "Admin:Url")]
    [InlineData("--Admin:Url=https://127.0.0.1:0", "Admin:Url: 'https://127.0.0.1:0' is not valid")]
    [InlineData("--Logging:LogLevel:Default=Loud", "Logging:LogLevel:Default")]
    [InlineData("--Logging:Console:FormatterName=Xml", "Logging:Console:FormatterName")]
    [InlineData("--Protocols=Http3", "Protocols")]
    [InlineData("--HandOver=/", "HandOver")]
    [InlineData("--Settings=", "Settings")]
    [InlineData("--Cache:ErrorPages=/nonexistent/directory", "Cache:ErrorPages")]
    [InlineData("--HandOver=/a-path-of-more-than-ninety-bytes-in-which-no-unix-socket-can-be-as-the-system-has-no-room-for-it", "HandOver")]
    [InlineData("--Urls=127.0.0.1:80", "Urls")]
    [InlineData("--Urls=ftp://127.0.0.1", "Urls")]
    [InlineData("--Urls=", "Urls")]
    [InlineData("--Admin:Url=nonsense", "Admin:Url")]
    [InlineData("--Cache:Origin=ftp://x", "Cache:Origin")]
    [InlineData("--Cache:Origin=http://", "Cache:Origin")]
    [InlineData("--Cache:Origin=http://u:p@x", "Cache:Origin")]
    [InlineData("--Cache:Origin=http://x/?q", "Cache:Origin")]
    [InlineData("--Cache:Origin=example", "Cache:Origin")]
    [InlineData("--Cache:Origins=http://a;example", "Cache:Origins")]
    [InlineData("--Cache:Origins=http://a;http://A/", "Cache:Origins")]
    [InlineData("--Cache:OriginEjectAfter=-1", "Cache:OriginEjectAfter")]
    [InlineData("--Cache:FillRetryDelay=2h", "Cache:FillRetryDelay")]
    [InlineData("--Cache:OriginMaxFills=0", "Cache:OriginMaxFills")]
    [InlineData("--Cache:OriginMaxPasses=0", "Cache:OriginMaxPasses")]
    [InlineData("--Cache:OriginEjectTime=0", "Cache:OriginEjectTime")]
    [InlineData("--Cache:OriginProbePath=alive", "Cache:OriginProbePath")]
    [InlineData("--Cache:OriginProbePath=/../alive", "Cache:OriginProbePath")]
    [InlineData("--Cache:OriginProbeInterval=0", "Cache:OriginProbeInterval")]
    [InlineData("--Cache:HitForMissTtl=2d", "Cache:HitForMissTtl")]
    [InlineData("--Cache:MaxMarkers=0", "Cache:MaxMarkers")]
    [InlineData("--Cache:MaxUpgrades=0", "Cache:MaxUpgrades")]
    [InlineData("--Cache:MaxWaiters=0", "Cache:MaxWaiters")]
    [InlineData("--Cache:FetchResumes=101", "Cache:FetchResumes")]
    [InlineData("--Cache:FetchQueueTime=2h", "Cache:FetchQueueTime")]
    [InlineData("--Cache:OverloadDelay=2h", "Cache:OverloadDelay")]
    [InlineData("--MaxBusyConnectionsPerLoop=0", "MaxBusyConnectionsPerLoop")]
    [InlineData("--Cache:Coalesce=yes", "Cache:Coalesce")]
    [InlineData("--Cache:MinReaderRate=-1", "Cache:MinReaderRate")]
    [InlineData("--Cache:MaxFillAge=0", "Cache:MaxFillAge")]
    [InlineData("--Cache:BackgroundFillBytes=some", "Cache:BackgroundFillBytes")]
    [InlineData("--Cache:OriginFirstByteTimeout=0", "Cache:OriginFirstByteTimeout")]
    [InlineData("--Cache:Routes:0:HoldTime=1s", "Cache:Routes:0:Prefix: is missing")]
    [InlineData("--Cache:Routes:0:Hold=1s", "Cache:Routes:0:Hold")]
    [InlineData("--Cache:Routes:x:HoldTime=1s", "Cache:Routes:x:HoldTime")]
    [InlineData("--Cache:Routes:0:MaxFills=1", "Cache:Routes:0:MaxFills")]
    [InlineData("--Cache:MaxRequestBodyBytes=0", "Cache:MaxRequestBodyBytes")]
    [InlineData("--Cache:TrustedProxies=proxy.example", "Cache:TrustedProxies")]
    [InlineData("--Cache:TrustedProxies=10.1", "Cache:TrustedProxies")]
    [InlineData("--Cache:ForwardTagsTo=all", "Cache:ForwardTagsTo")]
    [InlineData("--Cache:PurgeFrom=localhost", "Cache:PurgeFrom")]
    [InlineData("--Cache:TrustedProxies=010.0.0.1", "Cache:TrustedProxies")]
    [InlineData("--Cache:TrustedProxies=10.0.0.0/33", "Cache:TrustedProxies")]
    [InlineData("--Cache:TrustedProxies=10.0.0.0/", "Cache:TrustedProxies")]
    [InlineData("--Cache:TrustedProxies=::1/129", "Cache:TrustedProxies")]
    [InlineData("--Cache:TrustedProxies=10.0.0.0/8,10.1.0.0/16", "Cache:TrustedProxies")]
    [InlineData("--Cache:Orign=http://x", "--Cache:Orign")]
    [InlineData("--unknown=1", "--unknown")]
    [InlineData("--Cache:MaxFills", "--Cache:MaxFills")]
    [InlineData("word", "'word'")]
    public async Task Start_WithAWrongOption_FailsNamingIt(string argument, string name)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => CachingServiceHost.StartAsync(WithFreePorts(argument)));

        Assert.Contains(name, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    [Theory]
    [InlineData("X_Kind", "origins behind CGI or WSGI read '_' as '-', and may take it for another field")]
    [InlineData("Connection", "it concerns one connection")]
    [InlineData("transfer-encoding", "it concerns one connection")]
    [InlineData("Cookie", "it says who one client is; requests that have it go to the origin alone")]
    [InlineData("If-None-Match", "a fetch asks for the whole object, under conditions of its own")]
    [InlineData("Range", "a fetch asks for the whole object, under conditions of its own")]
    [InlineData("Accept-Encoding", "every fetch has one of its own")]
    [InlineData("Content-Type", "a fetch has no body")]
    [InlineData("Host", "the service sets it itself, or origins take it for another host, target or method than the key's")]
    [InlineData("X-Forwarded-Host", "the service sets it itself, or origins take it for another host, target or method than the key's")]
    [InlineData("X-HTTP-Method", "the service sets it itself, or origins take it for another host, target or method than the key's")]
    [InlineData("Traceparent", "no response depends on it; Cache:PassTrace has a fetch carry it")]
    [InlineData("a b", "it is no field name")]
    public async Task FetchField_ThatNoFetchMayCarry_IsRefusedWithTheReason(string name, string reason)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(
            () => CachingServiceHost.StartAsync(WithFreePorts($"--Cache:FetchFields=Accept,{name}")));

        Assert.Equal($"Option Cache:FetchFields: 'Accept,{name}' is not valid: '{name}' cannot go with a fetch: {reason}.", failure.Message);
    }

    [Fact]
    public async Task Start_WithOneOriginAndSeveral_FailsNamingBoth()
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(
            () => TestService.StartAsync("http://a", "--Cache:Origins=http://b;http://c"));

        Assert.Equal("Option Cache:Origins: cannot be given together with Cache:Origin.", failure.Message);
    }

    [Theory]
    [InlineData("Cache:Routes:1:HoldTime", "soon", "Cache:Routes:1:HoldTime: 'soon' is not valid")]
    [InlineData("Cache:Routes:1:Prefix", "live/", "Cache:Routes:1:Prefix: 'live/' is another route's")]
    [InlineData("Cache:Routes:1:Colour", "red", "Cache:Routes:1:Colour is not known")]
    public void Routes_WithAWrongOption_AreRefusedNamingIt(string name, string value, string expected)
    {
        Dictionary<string, string?> settings = new() { ["Cache:Routes:0:Prefix"] = "live/", ["Cache:Routes:1:Prefix"] = "vod/", [name] = value };
        IConfiguration configuration = new ConfigurationBuilder().AddInMemoryCollection(settings).Build();

        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(configuration));

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Route_OfAKey_IsTheLongestPrefixAndElseTheGeneralValues()
    {
        CacheOptions options = Heads.OptionsOf(
            "Cache:HoldTime=9s", "Cache:MinReaderRate=7", "Cache:Routes:0:Prefix=live/", "Cache:Routes:0:HoldTime=1s",
            "Cache:Routes:1:Prefix=live/slow/", "Cache:Routes:1:Coalesce=false", "Cache:Routes:1:DefaultTtl=5s");

        AssertIs(("live/", 0, 1, 7, true), "live/a");
        AssertIs(("live/slow/", 5, 9, 7, false), "live/slow/a");
        AssertIs(("", 0, 9, 7, true), "Live/a");
        Assert.False(options.Routes.HasOwnRates);

        void AssertIs((string Prefix, int DefaultTtl, int HoldTime, int MinReaderRate, bool Coalesce) expected, string key)
        {
            RoutePolicy policy = options.Routes.Of(key);
            Assert.Equal((expected.Prefix, TimeSpan.FromSeconds(expected.DefaultTtl)), (policy.Prefix, policy.Freshness.DefaultTtl));
            Assert.Equal(
                (TimeSpan.FromSeconds(expected.HoldTime), expected.MinReaderRate, expected.Coalesce), (policy.HoldTime, policy.MinReaderRate, policy.Coalesce));
        }
    }

    [Fact]
    public void Origins_AsAListInAFile_AreRefused()
    {
        // The framework would give each element a name of its own, and the option would silently be unset.
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection([new("Cache:Origins:0", "http://a"), new("Cache:Origins:1", "http://b")]).Build();

        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(configuration));

        Assert.Contains("Cache:Origins:", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Start_OnAnAddressInUse_FailsNamingTheOption()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync(origin.Url, $"--Urls={service.Url}"));

        Assert.Contains($"Urls: cannot listen on '{service.Url}'", failure.Message, StringComparison.Ordinal);
        Assert.Contains("address already in use", failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("0", 0)]
    [InlineData("90", 90_000)]
    [InlineData("1.5s", 1_500)]
    [InlineData("500ms", 500)]
    [InlineData("5m", 300_000)]
    [InlineData("1h", 3_600_000)]
    [InlineData("7d", 604_800_000)]
    [InlineData("00:01:30", 90_000)]
    public void Duration_InEachForm_IsRead(string text, long milliseconds) =>
        Assert.Equal(TimeSpan.FromMilliseconds(milliseconds), ValueParser.Duration(text, TimeSpan.Zero, TimeSpan.FromDays(365)));

    [Theory]
    [InlineData("1", 1)]
    [InlineData("64KiB", 65536)]
    [InlineData("3mib", 3 << 20)]
    [InlineData("1GiB", 1L << 30)]
    public void Bytes_InEachForm_AreRead(string text, long bytes) => Assert.Equal(bytes, ValueParser.Bytes(text, 1, 1L << 40));

    [Fact]
    public void CommandLine_InBothForms_IsRead()
    {
        Dictionary<string, string?> values = CommandLine.Parse(["--cache:defaultttl", "60s", "--URLS=http://x", "--Logging:LogLevel:Default=Debug"]);

        Assert.Equal(("60s", "http://x", "Debug"), (values["Cache:DefaultTtl"], values["Urls"], values["Logging:LogLevel:Default"]));
    }

    [Fact]
    public void CommandLine_GivenTwice_IsRefused()
    {
        OptionException failure = Assert.Throws<OptionException>(() => CommandLine.Parse(["--Urls=a", "--urls=b"]));

        Assert.Contains("twice", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Help_ListsEveryOptionWithItsDefault()
    {
        string help = HelpText.Write(topic: "");

        Assert.All(OptionCatalog.All, option => Assert.Contains($"--{option.Name} <{option.Form}>", help, StringComparison.Ordinal));
        Assert.True(CommandLine.AsksForHelp(["--urls", "x", "--help"], out _));
    }

    [Theory]
    [InlineData("disk", "--Cache:DiskPath ", "--Cache:MaxFills ")]
    [InlineData("PROXY", "--ProxyProtocol:From ", "--Cache:DiskPath ")]
    public void Help_OnATopic_ListsItsOptions(string topic, string has, string hasNot)
    {
        Assert.True(CommandLine.AsksForHelp(["--help", topic], out string asked));
        string help = HelpText.Write(asked);

        Assert.Contains(has, help, StringComparison.Ordinal);
        Assert.DoesNotContain(hasNot, help, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Cache:DefautTtl", " Did you mean Cache:DefaultTtl?")]
    [InlineData("defaultttl", " Did you mean Cache:DefaultTtl?")]
    [InlineData("Urlss", " Did you mean Urls?")]
    [InlineData("Cache:Routes:7:Prefx", " Did you mean Cache:Routes:7:Prefix?")]
    [InlineData("Cache:Colour", "")]
    public void UnknownName_BringsTheNearestOne(string name, string question) => Assert.Equal(question, OptionNames.Suggest(name));

    /// <summary>Addresses that can be listened on, for the options that are not about addresses.</summary>
    private static string[] WithFreePorts(string argument)
    {
        string[] free = ["--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0"];
        return [.. free.Where(option => option.Split('=')[0] != argument.Split('=')[0]), argument];
    }
}
