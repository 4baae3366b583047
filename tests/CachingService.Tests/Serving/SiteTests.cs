using System.Net;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;

namespace CachingService.Tests.Serving;

/// <summary><c>Cache:PublicPath</c> and <c>Cache:PassHost</c>: a whole site, and several of them, in the place of <c>/object/</c>.</summary>
public sealed class SiteTests
{
    private const string Hit = "CachingService; hit; ttl=60";

    [Theory]
    [InlineData("/")]
    [InlineData("/?a")]
    [InlineData("/a%2Fb?c=%2e")]
    [InlineData("//a")]
    [InlineData("/object/a")]
    [InlineData("/ready")]
    [InlineData("/health/")]
    [InlineData("/healthy")]
    [InlineData("/%68ealth")]
    public async Task Site_HasEachPath(string target)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Target));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/");

        Assert.Equal(target, (await service.FetchAsync(target)).Body);
        await service.IsAtRestAsync();
        (RawResponse head, string body) = await service.FetchAsync(target);

        Assert.Equal((200, Hit, target), (head.Status, head.CacheStatus, body));
        Assert.Equal(new Uri(origin.Url).Authority, Assert.Single(origin.Exchanges).Field("Host"));
        Assert.NotNull(service.StoredHead(target));
    }

    [Theory]
    [InlineData("/health", "OK")]
    [InlineData("/health?a", "OK")]
    [InlineData("/ready", "OK", "--PublicReady=true")]
    public async Task OwnPaths_OfASite_AreTheServices(string target, string expected, params string[] options)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, [.. options, "--Cache:PublicPath=/"]);

        Assert.Equal(expected, (await service.FetchAsync(target)).Body);
        Assert.Equal(0, origin.RequestCount);
    }

    [Theory]
    [InlineData("/media/v1/a?b", 200, "/base/a?b")]
    [InlineData("/media/v1", 404, null)]
    [InlineData("/media/v1/", 404, null)]
    [InlineData("/object/a", 404, null)]
    [InlineData("/med%69a/v1/a", 400, null)]
    [InlineData("/media/v1/../a", 400, null)]
    public async Task OtherPath_TakesTheObjectsPlace(string target, int status, string? asked)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url + "/base", "--Cache:PublicPath=/media/v1/");

        Assert.Equal(status, (await service.FetchAsync(target)).Head.Status);
        Assert.Equal(asked, origin.Exchanges.SingleOrDefault()?.Target);
    }

    [Theory]
    [InlineData("/", "/a", "shop.test/a")]
    [InlineData("/object/", "/object/a", "shop.test/object/a")]
    public async Task Hosts_WherePassed_HaveObjectsOfTheirOwn(string path, string target, string key)
    {
        using TokenFile token = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"of {exchange.Field("Host")}"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Cache:PublicPath={path}", "--Cache:PassHost=true", token.Option);

        Assert.Equal("of shop.test", (await FetchAsync("shop.test")).Body);
        await service.IsAtRestAsync();
        Assert.Equal(("of shop.test", Hit), await FetchAsync("SHOP.test:80"));
        Assert.Equal("of blog.test", (await FetchAsync("blog.test")).Body);
        await service.IsAtRestAsync();
        Assert.Equal(2, origin.RequestCount);

        Assert.Contains("\"objects\": 1", (await service.AskAdminAsync("POST", $"/purge?key={key}")).Body, StringComparison.Ordinal);
        Assert.Equal(("of blog.test", Hit), await FetchAsync("blog.test"));
        Assert.Equal("of shop.test", (await FetchAsync("shop.test")).Body);
        Assert.Equal(3, origin.RequestCount);

        async Task<(string Body, string CacheStatus)> FetchAsync(string host)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            (RawResponse head, string body) = await client.ReadAsync();
            return (body, head.CacheStatus);
        }
    }

    /// <summary>A group of one site is none of another (RFC 9875 2); the operator purges by tag in all of them.</summary>
    [Fact]
    public async Task Groups_OfASite_ArePurgedByItsOwnAnswersAlone()
    {
        using TokenFile token = new();
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}", $"Cache-Control: max-age=60\r\nCache-Groups: \"news\"\r\nSurrogate-Key: key\r\n{(exchange.Method == "POST" ? "Cache-Group-Invalidation: \"news\", \"key\"\r\n" : "")}"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/", "--Cache:PassHost=true", token.Option);
        Assert.Equal(("1", "2"), (await AskAsync("shop.test"), await AskAsync("blog.test")));
        string entry = (await service.AskAdminAsync("GET", "/entry?key=shop.test/a")).Body;
        Assert.Matches("\"tags\": ?\\[\\s*\"news\",\\s*\"key\"\\s*\\]", entry);

        Assert.Equal("3", await AskAsync("shop.test", "POST", "/form"));
        await service.IsAtRestAsync();
        Assert.Equal(("4", "2"), (await AskAsync("shop.test"), await AskAsync("blog.test")));

        Assert.Contains("\"objects\": 2", (await service.AskAdminAsync("POST", "/purge?tag=news")).Body, StringComparison.Ordinal);
        Assert.Equal(("5", "6"), (await AskAsync("shop.test"), await AskAsync("blog.test")));

        async Task<string> AskAsync(string host, string method = "GET", string target = "/a")
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
            string body = (await client.ReadAsync()).Body;
            await service.IsAtRestAsync();
            return body;
        }
    }

    [Fact]
    public async Task Host_WherePassed_ReachesTheOriginOverHttp2AndInPasses()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:PublicPath=/", "--Cache:PassHost=true", "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        using HttpResponseMessage got = await client.GetAsync("/a");
        using HttpResponseMessage passed = await client.GetAsync("/a", HttpMethod.Delete);

        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.OK), (got.StatusCode, passed.StatusCode));
        Assert.All(origin.Exchanges, exchange => Assert.Equal(new Uri(service.Url).Authority, exchange.Field("Host")));
        Assert.Equal(["GET", "DELETE"], origin.Exchanges.Select(exchange => exchange.Method));
    }

    [Fact]
    public async Task Hosts_WhereNotPassed_HaveTheSameObjects()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/");
        await service.StoreAsync("/a");
        await using RawClient other = await RawClient.ConnectAsync(service.Url);
        await other.SendRawAsync("GET /a HTTP/1.1\r\nHost: other.test\r\n\r\n");

        Assert.Equal(Hit, (await other.ReadAsync()).Head.CacheStatus);
    }

    [Theory]
    [InlineData("IgnoreQuery=true", "/a?b=1", "/a", "/a?c", "/a")]
    [InlineData("QueryParameters=id,p*", "/a?x=1&id=2&page=3&p=4&idd=5", "/a?id=2&page=3&p=4", "/a?id=2&page=3&p=4&y", "/a?id=2&page=3&p=4&y=?")]
    [InlineData("IgnoredQueryParameters=utm_*,gclid", "/a?utm_source=x&id=1&gclid=7&utm=2", "/a?id=1&utm=2", "/a?id=1&utm=2&utm_=")]
    [InlineData("IgnoredQueryParameters=*", "/a?b=1", "/a", "/a", "/a?c")]
    [InlineData("SortQuery=true", "/a?b=2&a=2&b=1&a", "/a?a=2&a&b=2&b=1", "/a?a=2&b=2&b=1&a")]
    public async Task Query_CountsAsFarAsAnOptionSays(string option, string target, string asked, params string[] same)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(exchange.Target));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/", $"--Cache:{option}");
        await service.StoreAsync(target);

        foreach (string other in same)
        {
            (RawResponse head, string body) = await service.FetchAsync(other);
            Assert.Equal((asked, Hit), (body, head.CacheStatus));
        }

        Assert.Equal(asked, Assert.Single(origin.Exchanges).Target);
        Assert.NotNull(service.StoredHead(asked));
    }

    [Fact]
    public async Task QueryParameters_OfAQueryThatDoesNotCount_AreAContradiction()
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(
            () => TestService.StartAsync("http://a", "--Cache:IgnoreQuery=true", "--Cache:QueryParameters=a"));

        Assert.Equal("Option Cache:QueryParameters: cannot be given together with Cache:IgnoreQuery.", failure.Message);
    }

    /// <summary>RFC 9111 4.4: what an unsafe request names of the same host.</summary>
    [Fact]
    public async Task UnsafeRequest_InvalidatesObjectsOfItsHostAlone()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.Method == "POST" ? exchange.AnswerAsync("", "Location: /a\r\n") : exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:PublicPath=/", "--Cache:PassHost=true");
        await AskAsync("GET", "shop.test", "/a");
        await AskAsync("GET", "blog.test", "/a");
        await service.IsAtRestAsync();

        await AskAsync("POST", "shop.test", "/form");

        Assert.NotEqual(Hit, await AskAsync("GET", "shop.test", "/a"));
        Assert.Equal(Hit, await AskAsync("GET", "blog.test", "/a"));

        async Task<string> AskAsync(string method, string host, string target)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
            return (await client.ReadAsync()).Head.CacheStatus;
        }
    }

    [Theory]
    [InlineData("media")]
    [InlineData("/media")]
    [InlineData("//")]
    [InlineData("/a//b/")]
    [InlineData("/a/../b/")]
    [InlineData("/a%20b/")]
    [InlineData("/{id}/")]
    [InlineData("")]
    public async Task Path_ThatIsNone_StopsTheStart(string path)
    {
        OptionException failure = await Assert.ThrowsAsync<OptionException>(() => TestService.StartAsync("http://a", $"--Cache:PublicPath={path}"));

        Assert.StartsWith($"Option Cache:PublicPath: '{path}' is not valid: expected / or a path such as /media/", failure.Message, StringComparison.Ordinal);
    }
}
