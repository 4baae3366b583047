using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Routes;

/// <summary>What a route does beside the cache: cross-origin rules, networks, fields of the operator's, and pages for errors; and forced lifetimes.</summary>
public sealed class RouteRuleTests
{
    private const string Hit = "CachingService; hit; ttl=60";
    private const string Asked = "Origin: https://app.test\r\n";

    [Fact]
    public async Task CrossOrigin_Preflight_IsAnsweredHere()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:CorsOrigins=https://app.test,https://other.test", "--Cache:CorsMethods=GET,PUT", "--Cache:CorsFields=X-Own",
            "--Cache:CorsCredentials=true", "--Cache:CorsMaxAge=1h");

        RawResponse head = await AskAsync($"{Asked}Access-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x-own\r\n");
        Assert.Equal(
            (204, "https://app.test", "GET,PUT", "X-Own", "3600", "true", "Origin"),
            (head.Status, head["Access-Control-Allow-Origin"], head["Access-Control-Allow-Methods"], head["Access-Control-Allow-Headers"],
                head["Access-Control-Max-Age"], head["Access-Control-Allow-Credentials"], head["Vary"]));

        head = await AskAsync("Origin: https://evil.test\r\nAccess-Control-Request-Method: PUT\r\n");
        Assert.Equal((204, null, "Origin"), (head.Status, head["Access-Control-Allow-Origin"], head["Vary"]));
        Assert.Equal(0, origin.RequestCount);

        async Task<RawResponse> AskAsync(string fields)
        {
            await using RawClient client = await service.GetAsync("/object/a", fields, "OPTIONS");
            return await client.ReadHeadAsync();
        }
    }

    [Fact]
    public async Task CrossOrigin_Response_IsSharedAndNamesEachOnesOrigin()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            "x", "Cache-Control: max-age=60\r\nAccess-Control-Allow-Origin: https://inner.test\r\nAccess-Control-Allow-Credentials: true\r\n"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:CorsOrigins=https://app.test,https://other.test", "--Cache:CorsExposedFields=X-Own");
        await service.StoreAsync("/object/a", Asked);

        foreach ((string field, string? expected) in (IEnumerable<(string, string?)>)
            [(Asked, "https://app.test"), ("Origin: https://other.test\r\n", "https://other.test"), ("Origin: https://evil.test\r\n", null), ("", null)])
        {
            (RawResponse head, _) = await service.FetchAsync("/object/a", field);
            Assert.Equal((Hit, expected, null, "Origin"), (head.CacheStatus, head["Access-Control-Allow-Origin"], head["Access-Control-Allow-Credentials"], head["Vary"]));
            Assert.Equal(expected is null ? null : "X-Own", head["Access-Control-Expose-Headers"]);
        }
    }

    [Fact]
    public async Task CrossOrigin_ForAll_IsAStar()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Routes:0:Prefix=open/", "--Cache:Routes:0:CorsOrigins=*");

        (RawResponse head, _) = await service.FetchAsync("/object/open/a", Asked);
        Assert.Equal(("*", null), (head["Access-Control-Allow-Origin"], head["Vary"]));
        Assert.Null((await service.FetchAsync("/object/a", Asked)).Head["Access-Control-Allow-Origin"]);
    }

    [Theory]
    [InlineData(403, "--Cache:DenyFrom=127.0.0.0/8")]
    [InlineData(200, "--Cache:DenyFrom=10.0.0.0/8")]
    [InlineData(403, "--Cache:DenyFrom=::ffff:127.0.0.1")]
    [InlineData(403, "--Cache:DenyFrom=::ffff:127.0.0.0/104")]
    [InlineData(200, "--Cache:DenyFrom=::ffff:10.0.0.0/104")]
    [InlineData(200, "--Cache:AllowFrom=::FFFF:7f00:0/104")]
    [InlineData(200, "--Cache:DenyFrom=::/0")]
    [InlineData(403, "--Cache:AllowFrom=10.0.0.0/8")]
    [InlineData(200, "--Cache:AllowFrom=127.0.0.1;10.0.0.0/8")]
    [InlineData(403, "--Cache:AllowFrom=127.0.0.1", "--Cache:DenyFrom=127.0.0.1")]
    [InlineData(403, "--Cache:DenyFrom=192.0.2.1", "--Cache:TrustedProxies=127.0.0.1")]
    [InlineData(200, "--Cache:AllowFrom=192.0.2.0/24", "--Cache:TrustedProxies=127.0.0.1")]
    [InlineData(403, "--Cache:AllowFrom=192.0.2.0/24")]
    public async Task Client_OfANetwork_IsServedOrNot(int status, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, options);

        (RawResponse head, _) = await service.FetchAsync("/object/a", "X-Forwarded-For: 192.0.2.1\r\n");

        Assert.Equal(status, head.Status);
        Assert.Equal(status == 403 ? 0 : 1, origin.RequestCount);
        Assert.Equal(status == 403, head.CacheStatus == "CachingService; detail=client-network");
        Assert.Equal(status == 403 ? "client-network=1" : "", service.ReasonsOf("cache_route_refusals_total"));
        Assert.Equal("OK", (await service.FetchAsync("/health")).Body);
    }

    /// <summary>The origin of both routes may read these as <c>/media/a</c>.</summary>
    [Theory]
    [InlineData(403, "/media/a")]
    [InlineData(403, "/media//a")]
    [InlineData(403, "/media/%61;b")]
    [InlineData(400, "/%6dedia/a")]
    [InlineData(400, "/medi%61%2Fa")]
    [InlineData(400, "//media/a")]
    [InlineData(400, "/%2fmedia/a")]
    [InlineData(400, "/%5Cmedia/a")]
    [InlineData(400, "/media;v=1/a")]
    [InlineData(400, "/media%3bv/a?b")]
    [InlineData(200, "/media/open/a")]
    [InlineData(200, "/media/open//%61")]
    [InlineData(200, "/other//%61;b?c=//media/%6dedia/")]
    [InlineData(200, "/")]
    public async Task Path_OfARouteThatRefuses_IsNotHadByAnotherSpelling(int status, string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:PublicPath=/", "--Cache:Routes:0:Prefix=media/", "--Cache:Routes:0:DenyFrom=127.0.0.1", "--Cache:Routes:1:Prefix=media/open/");

        (RawResponse head, _) = await service.FetchAsync(target);

        Assert.Equal((status, status == 200 ? 1 : 0), (head.Status, origin.RequestCount));
        Assert.Equal(status == 400, head.CacheStatus == "CachingService; detail=malformed-target");
    }

    [Fact]
    public async Task Spelling_WhereNoRouteRefuses_IsTheOrigins()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/", "--Cache:Routes:0:Prefix=media/");

        Assert.Equal(200, (await service.FetchAsync("//%6dedia;a/b")).Head.Status);
        Assert.Equal("//%6dedia;a/b", Assert.Single(origin.Exchanges).Target);
    }

    [Fact]
    public async Task Fields_OfTheOperator_AreOnHitsPassesAndErrors()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Server: inner\r\nX-Frame-Options: SAMEORIGIN\r\nCache-Control: max-age=60\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ResponseFields=X-Frame-Options: DENY | Server:|X-Site: a: b");
        await service.StoreAsync("/object/a");

        foreach ((string fields, string method) in (IEnumerable<(string, string)>)
            [("", "GET"), ("", "HEAD"), ("Cookie: a=b\r\n", "GET"), ("Range: bytes=9-\r\n", "GET"), ("", "TRACE")])
        {
            (RawResponse head, _) = await service.FetchAsync("/object/a", fields, method);
            Assert.Equal(("DENY", null, "a: b"), (head["X-Frame-Options"], head["Server"], head["X-Site"]));
        }
    }

    [Fact]
    public async Task Page_OfAnError_IsTheOperators()
    {
        string pages = Directory.CreateTempSubdirectory().FullName;
        try
        {
            File.WriteAllText(Path.Combine(pages, "502.html"), "bad gateway");
            File.WriteAllText(Path.Combine(pages, "4xx.html"), "not here");
            File.WriteAllText(Path.Combine(pages, "other.html"), "no status");
            await using ScriptedOrigin origin = new(exchange => exchange.Target == "/bad" ? exchange.SendAsync("garbage\r\n\r\n") : exchange.AnswerAsync("own"));
            await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:ErrorPages={pages}", "--Cache:FillAttempts=1");

            (RawResponse head, string body) = await service.FetchAsync("/object/bad");
            Assert.Equal((502, "bad gateway", "text/html; charset=utf-8", "no-store"), (head.Status, body, head["Content-Type"], head["Cache-Control"]));
            Assert.Equal((404, "not here"), await StatusAndBodyAsync("/none"));
            Assert.Equal("8", (await service.FetchAsync("/none", method: "HEAD")).Head["Content-Length"]);
            Assert.Equal((200, "own"), await StatusAndBodyAsync("/object/good"));

            File.WriteAllText(Path.Combine(pages, "4xx.html"), "changed");
            service.Host.Reload();
            Assert.Equal((404, "changed"), await StatusAndBodyAsync("/none"));

            async Task<(int Status, string Body)> StatusAndBodyAsync(string target)
            {
                (RawResponse head, string body) = await service.FetchAsync(target);
                return (head.Status, body);
            }
        }
        finally
        {
            Directory.Delete(pages, recursive: true);
        }
    }

    [Theory]
    [InlineData("max-age=1", "CachingService; hit; ttl=3600")]
    [InlineData("s-maxage=0", "CachingService; hit; ttl=3600")]
    [InlineData("no-cache", null)]
    [InlineData("no-store", null)]
    [InlineData("private, max-age=60", null)]
    public async Task ForcedTtl_CountsInThePlaceOfTheOrigins(string control, string? expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", $"Cache-Control: {control}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ForcedTtl=1h");
        await service.StoreAsync("/object/a");

        (RawResponse head, _) = await service.FetchAsync("/object/a");

        Assert.Equal(control, head["Cache-Control"]);
        Assert.Equal(expected is null, origin.RequestCount == 2);
        Assert.True(expected is null || head.CacheStatus == expected);
    }

    [Fact]
    public async Task ForcedTtl_IsNotOfErrors()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nCache-Control: max-age=5\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:ForcedTtl=1h");
        await service.StoreAsync("/object/a");

        Assert.Equal("CachingService; hit; ttl=5", (await service.FetchAsync("/object/a")).Head.CacheStatus);
    }

    [Theory]
    [InlineData("Cache:CorsCredentials: cannot be given together with * as Cache:CorsOrigins", "Cache:CorsOrigins=*", "Cache:CorsCredentials=true")]
    [InlineData("Cache:CorsOrigins: 'app.test' is not valid", "Cache:CorsOrigins=app.test")]
    [InlineData("Cache:CorsOrigins: 'https://app.test/' is not valid", "Cache:CorsOrigins=https://app.test/")]
    [InlineData("Cache:CorsMethods: 'GE T' is not valid", "Cache:CorsMethods=GE T")]
    [InlineData("Cache:ResponseFields: 'X-A' is not valid", "Cache:ResponseFields=X-A")]
    [InlineData("Cache:ResponseFields: 'Content-Length: 1' is not valid: the server writes Content-Length itself", "Cache:ResponseFields=Content-Length: 1")]
    [InlineData("Cache:ResponseFields: 'A: 1|a: 2' is not valid: expected different fields", "Cache:ResponseFields=A: 1|a: 2")]
    [InlineData("Cache:AllowFrom: 'here' is not valid", "Cache:AllowFrom=here")]
    [InlineData("Cache:Routes:0:ErrorPages", "Cache:Routes:0:Prefix=a", "Cache:Routes:0:ErrorPages=/a")]
    [InlineData("Cache:ForcedTtl: 'soon' is not valid", "Cache:ForcedTtl=soon")]
    public void Option_ThatIsWrong_IsNamed(string expected, params string[] settings)
    {
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection(settings.Select(static setting => setting.Split('=', 2)).Select(static pair => KeyValuePair.Create(pair[0], (string?)pair[1]))).Build();

        OptionException failure = Assert.Throws<OptionException>(() => ServiceOptions.Read(configuration));

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/there/is/none", "cannot read '/there/is/none'")]
    [InlineData("/dev/shm", "'/dev/shm' has no file such as 503.html or 5xx.html.")]
    public async Task Pages_ThatAreNotThere_StopTheStart(string directory, string expected)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://127.0.0.1:9", $"--Cache:ErrorPages={directory}"));

        Assert.StartsWith($"Option Cache:ErrorPages: {expected}", failure.Message, StringComparison.Ordinal);
    }
}
