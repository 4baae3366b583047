using System.Net;
using System.Text.Json;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>The method <c>PURGE</c> on the public address: whom it is for, what it purges and what it says.</summary>
public sealed class PurgeMethodTests
{
    private const string FromHere = "--Cache:PurgeFrom=127.0.0.1";
    private const string Tagged = "Cache-Control: max-age=60, stale-while-revalidate=60\r\nSurrogate-Key: one two\r\n";
    private const string NothingHit = "\"soft\":false,\"objects\":0,\"fills\":0}";
    private static readonly JsonSerializerOptions s_plain = new() { WriteIndented = false };

    [Theory]
    [InlineData("/object/d/a", "", 200, "{\"purged\":\"key\",\"key\":\"d/a\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/d/a", "Soft-Purge: 0\r\n", 200, "{\"purged\":\"key\",\"key\":\"d/a\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/d/b", "", 404, "{\"purged\":\"key\",\"key\":\"d/b\"," + NothingHit, "1")]
    [InlineData("/object/d/a?b", "", 404, "{\"purged\":\"key\",\"key\":\"d/a?b\"," + NothingHit, "1")]
    [InlineData("/object/d/*", "", 200, "{\"purged\":\"prefix\",\"prefix\":\"d/\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/e/*", "", 200, "{\"purged\":\"prefix\",\"prefix\":\"e/\"," + NothingHit, "1")]
    [InlineData("/object/*", "", 200, "{\"purged\":\"all\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/x", "Surrogate-Key: one\r\n", 200, "{\"purged\":\"tag\",\"tag\":\"one\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/", "Cache-Groups: \"two\"\r\n", 200, "{\"purged\":\"tag\",\"tag\":\"two\",\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/x", "Surrogate-Key: none  two\r\n", 200, "{\"purged\":\"tag\",\"tags\":[\"none\",\"two\"],\"soft\":false,\"objects\":1,\"fills\":0}", "2")]
    [InlineData("/object/d/a", "Surrogate-Key: three\r\n", 200, "{\"purged\":\"tag\",\"tag\":\"three\"," + NothingHit, "1")]
    public async Task Purge_ByWhoMay_SaysWhatItDid(string target, string fields, int status, string answer, string next)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere);
        await service.StoreAsync("/object/d/a");

        (RawResponse head, string body) = await service.FetchAsync(target, fields, "PURGE");

        using JsonDocument json = JsonDocument.Parse(body);
        Assert.Equal((status, answer), (head.Status, JsonSerializer.Serialize(json, s_plain)));
        Assert.Equal(("application/json", "no-store"), (head["Content-Type"], head["Cache-Control"]));
        Assert.Equal(next, (await service.FetchAsync("/object/d/a")).Body);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("/object/d/a", "")]
    [InlineData("/object/d/*", "")]
    [InlineData("/object/*", "")]
    [InlineData("/object/d/a", "Surrogate-Key: one\r\n")]
    public async Task SoftPurge_LeavesTheObjectToServeStale(string target, string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere);
        await service.StoreAsync("/object/d/a");

        (RawResponse head, string body) = await service.FetchAsync(target, fields + "Soft-Purge: 1\r\n", "PURGE");

        Assert.Equal((200, true), (head.Status, body.Contains("\"soft\": true", StringComparison.Ordinal)));
        Assert.Equal("1", (await service.FetchAsync("/object/d/a")).Body);
        await service.IsAtRestAsync();
        Assert.Equal("2", (await service.FetchAsync("/object/d/a")).Body);
    }

    [Theory]
    [InlineData("/object/", "", "target: names no object")]
    [InlineData("/object/d/a*", "", "target: expected the first bytes of keys, with a slash at the end, at most 8 slashes and 256 characters")]
    [InlineData("/object/1/2/3/4/5/6/7/8/9/*", "", "target: ")]
    [InlineData("/object/d/a?b=/*", "", "target: ")]
    [InlineData("/object/d/a", "Soft-Purge: yes\r\n", "field Soft-Purge: expected 1 or 0")]
    [InlineData("/object/d/a", "Surrogate-Key: \r\n", "field Surrogate-Key or Cache-Groups: expected 1 to 256 tags")]
    [InlineData("/object/d/a", "Cache-Groups: one\r\n", "field Surrogate-Key or Cache-Groups: ")]
    public async Task Purge_ThatIsWrong_Is400AndPurgesNothing(string target, string fields, string reason)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere);
        await service.StoreAsync("/object/d/a");

        (RawResponse head, string body) = await service.FetchAsync(target, fields, "PURGE");

        Assert.Equal(400, head.Status);
        Assert.Contains($"\"error\": \"{reason}", body, StringComparison.Ordinal);
        Assert.Equal("1", (await service.FetchAsync("/object/d/a")).Body);
    }

    [Theory]
    [InlineData("PURGE", "127.0.0.1", "", "", 200)]
    [InlineData("purge", "127.0.0.0/8;::1", "", "", 200)]
    [InlineData("PURGE", "10.0.0.0/8", "", "", 403)]
    [InlineData("purge", "10.0.0.0/8", "", "", 403)]
    [InlineData("PURGE", "10.0.0.0/8", "", "10.0.0.1", 403)]
    [InlineData("PURGE", "127.0.0.1", "127.0.0.1", "203.0.113.1", 403)]
    [InlineData("PURGE", "127.0.0.1;10.0.0.0/8", "127.0.0.1", "10.0.0.1, 203.0.113.1", 403)]
    [InlineData("PURGE", "127.0.0.1;10.0.0.0/8", "127.0.0.1", "10.0.0.1, unknown", 403)]
    [InlineData("PURGE", "10.0.0.0/8", "127.0.0.1", "203.0.113.1, 10.0.0.1", 200)]
    [InlineData("PURGE", "10.0.0.0/8", "127.0.0.1;192.0.2.0/24", "10.0.0.1, 192.0.2.1", 200)]
    [InlineData("PURGE", "127.0.0.1", "127.0.0.1", "", 200)]
    public async Task Client_IsTheOneOfTheConnectionOrOfItsTrustedProxies(string method, string allowed, string trusted, string forwarded, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:PurgeFrom={allowed}", $"--Cache:TrustedProxies={trusted}");
        await service.StoreAsync("/object/d/a");

        RawResponse head = (await service.FetchAsync("/object/d/a", forwarded.Length == 0 ? "" : $"X-Forwarded-For: {forwarded}\r\n", method)).Head;

        Assert.Equal((status, status == 403 ? "CachingService; detail=purge-not-allowed" : null), (head.Status, head["Cache-Status"]));
        Assert.Equal(status == 200 ? "2" : "1", (await service.FetchAsync("/object/d/a")).Body);
        Assert.DoesNotContain(origin.Exchanges, static exchange => exchange.Method != "GET");
    }

    [Theory]
    [InlineData("192.0.2.1", 200)]
    [InlineData("127.0.0.1", 403)]
    public async Task Client_BehindTheProxyProtocol_IsTheOneThatItNames(string allowed, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--ProxyProtocol:From=127.0.0.1", $"--Cache:PurgeFrom={allowed}");
        await using RawClient proxy = await RawClient.ConnectAsync(service.Url);

        await proxy.SendRawAsync("PROXY TCP4 192.0.2.1 192.0.2.9 4711 80\r\nPURGE /object/* HTTP/1.1\r\nHost: a\r\n\r\n");

        Assert.Equal(status, (await proxy.ReadAsync()).Head.Status);
    }

    [Theory]
    [InlineData("unix", 200)]
    [InlineData("127.0.0.1;::/0;0.0.0.0/0", 403)]
    public async Task Client_OfAUnixSocket_HasAWordOfItsOwn(string allowed, int status)
    {
        string folder = Directory.CreateTempSubdirectory("purge-socket-").FullName;
        try
        {
            await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
            await using TestService service = await TestService.StartAsync(origin.Url, $"--Urls=http://unix:{folder}/s", $"--Cache:PurgeFrom={allowed}");

            Assert.Equal(status, (await service.FetchAsync("/object/*", method: "PURGE")).Head.Status);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public async Task Purge_WithoutTheOption_GoesToTheOriginAndInvalidates()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a");

        Assert.Equal("2", (await service.FetchAsync("/object/a", method: "PURGE")).Body);

        Assert.Equal(["GET", "PURGE"], origin.Exchanges.Select(static exchange => exchange.Method));
        Assert.Equal("3", (await service.FetchAsync("/object/a")).Body);
    }

    [Fact]
    public async Task Key_IsThatOfAGetWithTheSameFieldsAndHost()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged + "Vary: Accept-Language\r\n"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, FromHere, "--Cache:PublicPath=/", "--Cache:PassHost=true", "--Cache:KeyCookies=lang", "--Cache:IgnoredQueryParameters=utm_*");
        string[] kept = ["Cookie: lang=de\r\n", "Accept-Language: de\r\n"];
        foreach (string fields in kept)
        {
            await service.StoreAsync("/news/a?b=c", fields);
        }

        await service.StoreAsync("/news/a?b=c", "Accept-Language: fr\r\n");

        // Without the cookie: both variants of that key, and nothing of the other's.
        Assert.Equal((200, 2), await PurgeAsync("/news/a?utm_x=1&b=c"));
        Assert.Equal("1", (await service.FetchAsync("/news/a?b=c", kept[0])).Body);
        Assert.Equal((200, 1), await PurgeAsync("/news/a?b=c", kept[0]));
        Assert.Equal((404, 0), await PurgeAsync("/news/a?b=c", kept[0]));

        async Task<(int Status, int Objects)> PurgeAsync(string target, string fields = "")
        {
            (RawResponse head, string body) = await service.FetchAsync(target, fields, "PURGE");
            return (head.Status, JsonDocument.Parse(body).RootElement.GetProperty("objects").GetInt32());
        }
    }

    [Theory]
    [InlineData("/*", 3, "shop.test/")]
    [InlineData("/news/*", 2, "shop.test/news/")]
    [InlineData("/news/de/*", 1, "shop.test/news/de/")]
    public async Task Prefix_IsOfOneHostAndOfAllCookies(string target, int objects, string prefix)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(
            origin.Url, FromHere, "--Cache:PublicPath=/", "--Cache:PassHost=true", "--Cache:KeyCookies=lang");
        await StoreAsync("shop.test", "/a", "");
        await StoreAsync("shop.test", "/news/a", "");
        await StoreAsync("shop.test", "/news/de/a", "Cookie: lang=de\r\n");
        await StoreAsync("blog.test", "/news/de/a", "");

        string body = (await SendAsync("SHOP.test:80", target, "", "PURGE")).Body;

        JsonElement answer = JsonDocument.Parse(body).RootElement;
        Assert.Equal((objects, prefix), (answer.GetProperty("objects").GetInt32(), answer.GetProperty("prefix").GetString()));
        Assert.Equal("4", (await SendAsync("blog.test", "/news/de/a", "", "GET")).Body);
        Assert.Equal("5", (await SendAsync("shop.test", "/news/de/a", "Cookie: lang=de\r\n", "GET")).Body);

        async Task StoreAsync(string host, string path, string fields)
        {
            await SendAsync(host, path, fields, "GET");
            await service.IsAtRestAsync();
        }

        async Task<(RawResponse Head, string Body)> SendAsync(string host, string path, string fields, string method)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
            return await client.ReadAsync();
        }
    }

    /// <summary>Keys without hosts begin with a slash, which is a prefix too.</summary>
    [Fact]
    public async Task Prefix_OfAWholeSiteWithoutHosts_IsTheSlash()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere, "--Cache:PublicPath=/");
        await service.StoreAsync("/a");

        string body = (await service.FetchAsync("/*", method: "PURGE")).Body;

        Assert.Contains("\"prefix\": \"/\"", body, StringComparison.Ordinal);
        Assert.Equal("2", (await service.FetchAsync("/a")).Body);
    }

    [Theory]
    [InlineData("other.test", "shop.test/")]
    [InlineData("shop.test", "shop.test/")]
    [InlineData("blog.test", "/")]
    public async Task Prefix_OfARoute_LeavesOtherRoutesAlone(string host, string prefix)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere, "--Cache:PublicPath=/", "--Cache:Routes:0:Hosts=shop.test,other.test");
        Assert.Equal(("1", "2"), (await SendAsync("shop.test", "GET /a"), await SendAsync("blog.test", "GET /a")));
        await service.IsAtRestAsync();

        Assert.Contains($"\"prefix\": \"{prefix}\"", await SendAsync(host, "PURGE /*"), StringComparison.Ordinal);

        bool isShop = prefix != "/";
        Assert.Equal(isShop ? ("3", "2") : ("1", "3"), (await SendAsync("other.test", "GET /a"), await SendAsync("blog.test", "GET /a")));

        async Task<string> SendAsync(string name, string start)
        {
            await using RawClient client = await RawClient.ConnectAsync(service.Url);
            await client.SendRawAsync($"{start} HTTP/1.1\r\nHost: {name}\r\n\r\n");
            return (await client.ReadAsync()).Body;
        }
    }

    [Fact]
    public async Task Purge_OverHttp2_IsTheSame()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, FromHere, "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        using HttpResponseMessage stored = await client.GetAsync("/object/d/a");
        await service.IsAtRestAsync();

        using HttpResponseMessage purged = await client.GetAsync("/object/d/*", new("PURGE"));
        using HttpResponseMessage nothing = await client.GetAsync("/object/d/b", new("PURGE"));

        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.NotFound), (purged.StatusCode, nothing.StatusCode));
        Assert.Contains("\"objects\": 1", await purged.Content.ReadAsStringAsync(TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Option_FollowsAReload()
    {
        string settings = Path.GetTempFileName();
        try
        {
            await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
            await File.WriteAllTextAsync(settings, "{}", TestContext.Current.CancellationToken);
            await using TestService service = await TestService.StartAsync(origin.Url, $"--Settings={settings}");
            foreach ((string allowed, string expected) in new[] { ("", "x"), ("127.0.0.1", "{"), ("192.0.2.1", ""), ("", "x") })
            {
                await File.WriteAllTextAsync(settings, $$"""{ "Cache": { "PurgeFrom": "{{allowed}}" } }""", TestContext.Current.CancellationToken);
                service.Host.Reload();
                Assert.StartsWith(expected, (await service.FetchAsync("/object/*", method: "PURGE")).Body, StringComparison.Ordinal);
            }

            Assert.Empty(service.Log.Warnings);
        }
        finally
        {
            File.Delete(settings);
        }
    }

    [Fact]
    public async Task Directory_HasNothingToPurge()
    {
        string folder = Directory.CreateTempSubdirectory("purge-files-").FullName;
        try
        {
            await using TestService service = await TestService.StartAsync(new Uri(folder).AbsoluteUri, FromHere);

            Assert.Equal(405, (await service.FetchAsync("/object/a", method: "PURGE")).Head.Status);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}
