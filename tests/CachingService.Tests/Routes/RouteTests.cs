using System.Text;
using CachingService.Options;
using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Routes;

/// <summary><c>Cache:Routes</c>: hosts and prefixes with origins, keys and lifetimes of their own.</summary>
public sealed class RouteTests : IDisposable
{
    private const string Hit = "CachingService; hit; ttl=60";

    private readonly string _settings = Path.GetTempFileName();

    public void Dispose() => File.Delete(_settings);

    [Theory]
    [InlineData("www.a.test", "/x", "one /x")]
    [InlineData("WWW.A.test:8080", "/x", "one /x")]
    [InlineData("a.test", "/x", "one /x")]
    [InlineData("a.test.", "/x", "one /x")]
    [InlineData("a.test.:8080", "/x", "one /x")]
    [InlineData("img.b.test.", "/x", "two /x")]
    [InlineData("img.b.test", "/x", "two /x")]
    [InlineData("deep.img.b.test", "/x", "three /x")]
    [InlineData("b.test", "/x", "rest /x")]
    [InlineData("other.test", "/x", "rest /x")]
    [InlineData("other.test", "/api/x", "api /v1/x")]
    [InlineData("www.a.test", "/api/x", "one /api/x")]
    [InlineData("img.b.test", "/api/x?y", "two /api/x?y")]
    [InlineData("other.test", "/api", "rest /api")]
    [InlineData("other.test", "/api/special/x", "special /api/special/x")]
    public async Task Request_OfAHostAndAPath_GoesToItsOrigin(string host, string target, string expected)
    {
        await using ScriptedOrigin one = Named("one"), two = Named("two"), three = Named("three"), api = Named("api"), special = Named("special"), rest = Named("rest");
        await using TestService service = await TestService.StartAsync(
            rest.Url,
            "--Cache:PublicPath=/",
            "--Cache:Routes:0:Hosts=www.a.test,a.test", $"--Cache:Routes:0:Origin={one.Url}",
            "--Cache:Routes:1:Hosts=*.b.test", $"--Cache:Routes:1:Origin={two.Url}",
            "--Cache:Routes:2:Hosts=*.img.b.test", $"--Cache:Routes:2:Origin={three.Url}",
            "--Cache:Routes:3:Prefix=/api/", $"--Cache:Routes:3:Origin={api.Url}/v1", "--Cache:Routes:3:StripPrefix=true",
            "--Cache:Routes:4:Prefix=api/special/", $"--Cache:Routes:4:Origin={special.Url}");

        Assert.Equal(expected, (await FetchAsync(service, host, target)).Body);
        await service.IsAtRestAsync();
        Assert.Equal((Hit, expected), await FetchAsync(service, host, target));
    }

    [Fact]
    public async Task SamePath_OfTwoRoutes_IsTwoObjects()
    {
        using TokenFile token = new();
        await using ScriptedOrigin one = Named("one"), two = Named("two");
        await using TestService service = await TestService.StartAsync(
            one.Url, "--Cache:Routes:0:Hosts=b.test,www.b.test", $"--Cache:Routes:0:Origin={two.Url}", token.Option);

        Assert.Equal("one /x", (await FetchAsync(service, "a.test", "/object/x")).Body);
        Assert.Equal("two /x", (await FetchAsync(service, "b.test", "/object/x")).Body);
        await service.IsAtRestAsync();
        Assert.Equal((Hit, "one /x"), await FetchAsync(service, "a.test", "/object/x"));
        Assert.Equal((Hit, "two /x"), await FetchAsync(service, "www.b.test", "/object/x"));

        Assert.Contains("\"objects\": 1", (await service.AskAdminAsync("POST", "/purge?key=b.test/object/x")).Body, StringComparison.Ordinal);
        Assert.Equal((Hit, "one /x"), await FetchAsync(service, "a.test", "/object/x"));
    }

    [Theory]
    [InlineData("www.b.test", "/own/x", "one")]
    [InlineData("www.b.test", "/x", "two")]
    [InlineData("www.b.test", "/pics/x", "two")]
    [InlineData("a.img.b.test", "/x", "two")]
    [InlineData("a.img.b.test", "/pics/x", "three")]
    [InlineData("b.test", "/x", "rest")]
    public async Task Host_WithARouteForSomeOfItsPaths_HasTheOthersOfItsStar(string host, string target, string expected)
    {
        await using ScriptedOrigin one = Named("one"), two = Named("two"), three = Named("three"), rest = Named("rest");
        await using TestService service = await TestService.StartAsync(
            rest.Url, "--Cache:PublicPath=/",
            "--Cache:Routes:0:Hosts=www.b.test", "--Cache:Routes:0:Prefix=own/", $"--Cache:Routes:0:Origin={one.Url}",
            "--Cache:Routes:1:Hosts=*.b.test", $"--Cache:Routes:1:Origin={two.Url}",
            "--Cache:Routes:2:Hosts=*.img.b.test", "--Cache:Routes:2:Prefix=pics/", $"--Cache:Routes:2:Origin={three.Url}");

        Assert.Equal($"{expected} {target}", (await FetchAsync(service, host, target)).Body);
    }

    /// <summary>A host of which other routes have some paths is no name for the objects of the others.</summary>
    [Theory]
    [InlineData("a.test,b.test", "b.test")]
    [InlineData("b.test,a.test", "b.test")]
    [InlineData("a.test,b.test,c.test", "b.test")]
    [InlineData("a.test,*.b.test", "www.b.test")]
    public async Task Hosts_OfOneRoute_ShareNoObjectWithARouteForOneOfThem(string hosts, string other)
    {
        await using ScriptedOrigin one = Named("one"), two = Named("two"), three = Named("three");
        await using TestService service = await TestService.StartAsync(
            one.Url, "--Cache:PublicPath=/",
            $"--Cache:Routes:0:Hosts={hosts}", $"--Cache:Routes:0:Origin={one.Url}",
            "--Cache:Routes:1:Hosts=a.test", "--Cache:Routes:1:Prefix=own/", $"--Cache:Routes:1:Origin={two.Url}",
            "--Cache:Routes:2:Hosts=b.test,*.b.test", "--Cache:Routes:2:Prefix=else/", $"--Cache:Routes:2:Origin={three.Url}");

        foreach ((string host, string target, string expected) in (IEnumerable<(string, string, string)>)
            [("a.test", "/own/x", "two"), (other, "/own/x", "one"), (other, "/else/x", "three"), ("a.test", "/else/x", "one")])
        {
            Assert.Equal($"{expected} {target}", (await FetchAsync(service, host, target)).Body);
            await service.IsAtRestAsync();
            Assert.Equal((Hit, $"{expected} {target}"), await FetchAsync(service, host, target));
        }
    }

    /// <summary>Without whole paths in all keys, a host that a client makes up would be the first part of a path of another route.</summary>
    [Fact]
    public async Task MadeUpHost_OfARouteThatPassesIt_IsNoPathOfAnother()
    {
        await using ScriptedOrigin one = Named("one"), two = Named("two");
        await using TestService service = await TestService.StartAsync(
            one.Url, "--Cache:PassHost=true", "--Cache:Routes:0:Prefix=img/", $"--Cache:Routes:0:Origin={two.Url}", "--Cache:Routes:0:PassHost=false");

        Assert.Equal("one /x", (await FetchAsync(service, "img", "/object/x")).Body);
        await service.IsAtRestAsync();

        Assert.Equal("two /img/object/x", (await FetchAsync(service, "a.test", "/object/img/object/x")).Body);
    }

    [Fact]
    public async Task Routes_AloneWithOrigins_LeaveOtherRequestsUnknown()
    {
        await using ScriptedOrigin one = Named("one");
        await using TestService service = await TestService.StartAsync("", "--Cache:PublicPath=/", "--Cache:Routes:0:Hosts=a.test", $"--Cache:Routes:0:Origin={one.Url}");

        Assert.Equal("one /x", (await FetchAsync(service, "a.test", "/x")).Body);
        Assert.Equal("CachingService; detail=unknown-path", (await FetchAsync(service, "b.test", "/x")).CacheStatus);
        Assert.Equal("OK", (await FetchAsync(service, "b.test", "/health")).Body);
    }

    [Fact]
    public async Task Route_HasLifetimesKeysAndHostOfItsOwn()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Target} of {exchange.Field("Host")}", fields: ""));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:PublicPath=/", "--Cache:DefaultTtl=0s", "--Cache:IgnoredQueryParameters=utm_*",
            "--Cache:Routes:0:Prefix=long/", "--Cache:Routes:0:DefaultTtl=60s", "--Cache:Routes:0:IgnoredQueryParameters=", "--Cache:Routes:0:OriginHost=inner.test");

        (RawResponse head, string body) = await service.FetchAsync("/long/a?utm_source=x");
        Assert.Equal("/long/a?utm_source=x of inner.test", body);
        await service.IsAtRestAsync();
        Assert.Equal(Hit, (await service.FetchAsync("/long/a?utm_source=x")).Head.CacheStatus);
        Assert.StartsWith("CachingService; fwd=uri-miss; fwd-status=200", (await service.FetchAsync("/short/a")).Head.CacheStatus, StringComparison.Ordinal);
        Assert.StartsWith("/short/b of 127.0.0.1:", (await service.FetchAsync("/short/b?utm_source=x")).Body, StringComparison.Ordinal);
        Assert.DoesNotContain("hit", (await service.FetchAsync("/short/a")).Head.CacheStatus, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Field_OfTheKey_MakesTwoObjects()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Field("X-Device") ?? "none"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:KeyFields=X-Device");

        Assert.Equal("phone", (await service.FetchAsync("/object/a", "X-Device: phone\r\n")).Body);
        Assert.Equal("none", (await service.FetchAsync("/object/a")).Body);
        await service.IsAtRestAsync();
        (RawResponse head, string body) = await service.FetchAsync("/object/a", "X-Device: phone\r\n");
        Assert.Equal((Hit, "phone"), (head.CacheStatus, body));
    }

    [Fact]
    public async Task Directory_OfARoute_IsServedBesideAnOrigin()
    {
        using ServedFolder folder = new();
        folder.Make("a.txt", "of a file");
        await using ScriptedOrigin origin = Named("one");
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:PublicPath=/", "--Cache:Routes:0:Prefix=files/", $"--Cache:Routes:0:Origin={folder.Url}",
            "--Cache:Routes:0:StripPrefix=true", "--Cache:Routes:0:ForcedTtl=1h");

        (RawResponse head, string body) = await service.FetchAsync("/files/a.txt");
        Assert.Equal(("of a file", "max-age=3600"), (body, head["Cache-Control"]));
        Assert.Equal("one /a.txt", (await service.FetchAsync("/a.txt")).Body);
        Assert.Equal(405, (await service.FetchAsync("/files/a.txt", method: "DELETE")).Head.Status);
    }

    [Fact]
    public async Task Routes_FollowAReload_AndWhatIsWrongKeepsTheOld()
    {
        await using ScriptedOrigin one = Named("one"), two = Named("two"), three = Named("three");
        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "Routes": [ { "Prefix": "a/", "Origin": "{{two.Url}}" } ] } }""");
        await using TestService service = await StartAsync();
        Assert.Equal("two /a/x", (await service.FetchAsync("/object/a/x")).Body);

        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "Routes": [ { "Prefix": "b/", "Origin": "{{three.Url}}", "DefaultTtl": "60s" } ] } }""");
        service.Host.Reload();
        Assert.Equal("three /b/x", (await service.FetchAsync("/object/b/x")).Body);
        Assert.Equal("one /a/y", (await service.FetchAsync("/object/a/y")).Body);
        Assert.Equal(new HashSet<string> { one.Url, three.Url }, service.Host.Cache.Replicas.Select(static replica => replica.Url).ToHashSet());
        Assert.Empty(service.Log.Warnings);

        Write($$"""{ "Cache": { "Origins": "{{one.Url}}", "Routes": [ { "Prefix": "/b/", "Origin": "{{two.Url}}" } ] } }""");
        service.Host.Reload();
        Assert.Contains("Cache:Routes:0:Prefix: '/b/' is not below Cache:PublicPath, which is /object/.", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        Assert.Equal("three /b/z", (await service.FetchAsync("/object/b/z")).Body);
    }

    [Theory]
    [InlineData("Cache:Routes:1:Prefix: 'a/' is another route's", "Cache:Routes:0:Prefix=a/", "Cache:Routes:1:Prefix=a/")]
    [InlineData("Cache:Routes:0:Prefix: is missing", "Cache:Routes:0:DefaultTtl=1s")]
    [InlineData("Cache:Routes:0:Prefix: '/a/' is not below Cache:PublicPath, which is /object/", "Cache:Routes:0:Prefix=/a/")]
    [InlineData("Cache:Routes:0:Prefix: 'a/../b' is not valid", "Cache:Routes:0:Prefix=a/../b")]
    [InlineData("Cache:Routes:0:Prefix: 'a?b' is not valid", "Cache:Routes:0:Prefix=a?b")]
    [InlineData("Cache:Routes:0:StripPrefix: cannot be given with 'a', which ends with no slash", "Cache:Routes:0:Prefix=a", "Cache:Routes:0:StripPrefix=true")]
    [InlineData("Cache:Routes:0:Hosts: 'a.test:80' is not valid", "Cache:Routes:0:Hosts=a.test:80")]
    [InlineData("Cache:Routes:0:Hosts: 'a.*' is not valid", "Cache:Routes:0:Hosts=a.*")]
    [InlineData("Cache:Routes:0:Hosts: 'bücher.test' is not valid", "Cache:Routes:0:Hosts=bücher.test")]
    [InlineData("Cache:Routes:0:Hosts: '::1' is not valid", "Cache:Routes:0:Hosts=::1")]
    [InlineData("Cache:Routes:0:Origin: 'ftp://a' is not valid", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:Origin=ftp://a")]
    [InlineData("Cache:Routes:0:Origins: cannot be given together with Cache:Routes:0:Origin", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:Origin=http://a", "Cache:Routes:0:Origins=http://b")]
    [InlineData("Cache:Routes:1:Origin: is missing, as is Cache:Origin", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:Origin=http://a", "Cache:Routes:1:Prefix=b/")]
    [InlineData("Cache:Routes:0:OriginHost: cannot be given together with Cache:PassHost", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:OriginHost=b", "Cache:PassHost=true")]
    [InlineData("Cache:OriginHost: 'http://a' is not valid", "Cache:OriginHost=http://a")]
    [InlineData("Cache:Routes:0:PublicPath", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:PublicPath=/")]
    [InlineData("Cache:Routes:0:QueryParameters: cannot be given together with Cache:Routes:0:IgnoreQuery", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:QueryParameters=a", "Cache:IgnoreQuery=true")]
    public void Route_ThatIsWrong_IsNamed(string expected, params string[] settings)
    {
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection(settings.Select(static setting => setting.Split('=', 2)).Select(static pair => KeyValuePair.Create(pair[0], (string?)pair[1]))).Build();

        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(configuration));

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
    }

    /// <summary>The file that the README shows to operators.</summary>
    [Fact]
    public void Example_OfTheReadme_IsValid()
    {
        string readme = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "README.md"));
        string json = readme.Split("```json").Skip(1).Select(static part => part.Split("```")[0]).Single(static block => block.Contains("\"Routes\"", StringComparison.Ordinal));
        DirectoryInfo directory = Directory.CreateTempSubdirectory();
        File.WriteAllText(Path.Combine(directory.FullName, "503.html"), "page");
        json = json.Replace("\"Kestrel\"", "\"Left\"", StringComparison.Ordinal)
            .Replace("/srv/errors", directory.FullName, StringComparison.Ordinal)
            .Replace("/srv/static", directory.FullName, StringComparison.Ordinal);
        IConfiguration configuration = new ConfigurationBuilder().AddJsonStream(new MemoryStream(Encoding.UTF8.GetBytes(json))).Build();

        ServiceOptions options = ServiceOptions.Read(configuration);

        directory.Delete(recursive: true);
        Assert.Equal(
            [["static.example.com"], ["*.shop.example.com"], [], [], []],
            options.Routes.Select(static route => route.Hosts));
        Assert.Equal(["/", "/", "/api/", "/assets/", "/"], options.Routes.Select(static route => route.Prefix));
        Assert.Equal((directory.FullName, TimeSpan.FromDays(7)), (options.Routes[0].Origin.Directory, options.Routes[3].Policy.Freshness.ForcedTtl));
    }

    private static ScriptedOrigin Named(string name) => new(exchange => exchange.AnswerAsync($"{name} {exchange.Target}"));

    private static async Task<(string CacheStatus, string Body)> FetchAsync(TestService service, string host, string target)
    {
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        await client.SendRawAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        (RawResponse head, string body) = await client.ReadAsync();
        return (head.CacheStatus, body);
    }

    private Task<TestService> StartAsync() => TestService.StartAsync("", $"--Settings={_settings}");

    private void Write(string json) => File.WriteAllText(_settings, json);
}
