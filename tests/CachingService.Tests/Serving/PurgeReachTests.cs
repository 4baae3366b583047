using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Routes with a <c>PurgeFrom</c> of their own: what a client of one may purge of the others.</summary>
public sealed class PurgeReachTests
{
    private const string Tagged = "Cache-Control: max-age=60\r\nSurrogate-Key: one\r\n";

    private static readonly string[] s_sites =
    [
        "--Cache:PublicPath=/", "--Cache:PurgeFrom=10.0.0.1",
        "--Cache:Routes:0:Hosts=shop.test", "--Cache:Routes:0:PurgeFrom=10.0.0.1;10.0.0.2",
        "--Cache:Routes:1:Hosts=blog.test", "--Cache:Routes:1:PurgeFrom=10.0.0.1;10.0.0.3",
        "--Cache:Routes:2:Hosts=shop.test", "--Cache:Routes:2:Prefix=/closed/", "--Cache:Routes:2:PurgeFrom=10.0.0.1",
    ];

    /// <summary>10.0.0.1 may purge everywhere, 10.0.0.2 in the shop but for a part of it, 10.0.0.3 in the blog.</summary>
    [Theory]
    [InlineData("10.0.0.1", "shop.test", "/a", "", 200)]
    [InlineData("10.0.0.1", "shop.test", "/*", "", 200)]
    [InlineData("10.0.0.1", "shop.test", "/", "Surrogate-Key: one\r\n", 200)]
    [InlineData("10.0.0.1", "other.test", "/", "Surrogate-Key: one\r\n", 200)]
    [InlineData("10.0.0.2", "shop.test", "/a", "", 200)]
    [InlineData("10.0.0.2", "shop.test", "/open/*", "", 200)]
    [InlineData("10.0.0.2", "shop.test", "/*", "", 403)]
    [InlineData("10.0.0.2", "shop.test.", "/*", "", 403)]
    [InlineData("10.0.0.2", "shop.test", "/closed/*", "", 403)]
    [InlineData("10.0.0.2", "shop.test", "/", "Surrogate-Key: one\r\n", 403)]
    [InlineData("10.0.0.2", "shop.test", "/a", "Cache-Groups: \"one\"\r\n", 403)]
    [InlineData("10.0.0.2", "blog.test", "/a", "", 403)]
    [InlineData("10.0.0.3", "blog.test", "/a", "", 200)]
    [InlineData("10.0.0.3", "blog.test", "/*", "", 200)]
    [InlineData("10.0.0.3", "blog.test", "/", "Surrogate-Key: one\r\n", 403)]
    public async Task Purge_ThatReachesOtherRoutes_IsForTheClientsOfAll(string client, string host, string target, string fields, int status)
    {
        await PurgeAsync(s_sites, client, host, target, fields, status);
        await PurgeAsync([.. s_sites, "--Cache:PassHost=true"], client, host, target, fields, status);
    }

    [Theory]
    [InlineData("/object/*", "", 403)]
    [InlineData("/object/news/*", "", 200)]
    [InlineData("/object/closed/*", "", 403)]
    [InlineData("/object/closed/a/*", "", 403)]
    [InlineData("/object/a", "", 200)]
    [InlineData("/object/a", "Surrogate-Key: one\r\n", 403)]
    public async Task Route_WithoutClients_IsReachedByNone(string target, string fields, int status) => await PurgeAsync(
        ["--Cache:PurgeFrom=10.0.0.1", "--Cache:Routes:0:Prefix=closed/", "--Cache:Routes:0:PurgeFrom=10.0.0.9"], "10.0.0.1", "a", target, fields, status);

    /// <summary>A host for itself, by a star, is reached by a purge of that host only.</summary>
    [Theory]
    [InlineData("img.b.test", 403)]
    [InlineData("other.test", 200)]
    public async Task Prefix_OfAHost_ReachesTheRoutesOfThatHost(string host, int status) => await PurgeAsync(
        [
            "--Cache:PublicPath=/", "--Cache:PassHost=true", "--Cache:PurgeFrom=10.0.0.1",
            "--Cache:Routes:0:Hosts=*.b.test", "--Cache:Routes:0:Prefix=/closed/", "--Cache:Routes:0:PurgeFrom=10.0.0.9",
        ],
        "10.0.0.1", host, "/*", "", status);

    private static async Task PurgeAsync(string[] options, string client, string host, string target, string fields, int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, ["--Cache:TrustedProxies=127.0.0.1", .. options]);
        await using RawClient connection = await RawClient.ConnectAsync(service.Url);
        string path = target.StartsWith("/object", StringComparison.Ordinal) ? "/object/a" : "/a";
        await SendAsync("GET", path, "");
        await service.IsAtRestAsync();

        RawResponse head = await SendAsync("PURGE", target, $"X-Forwarded-For: {client}\r\n{fields}");

        // Of a key or a prefix that is nowhere, too: who may ask is told so.
        Assert.Equal(status, head.Status == 404 ? 200 : head.Status);
        if (status == 403)
        {
            Assert.Equal("CachingService; detail=purge-not-allowed", head["Cache-Status"]);
            Assert.StartsWith("CachingService; hit", (await SendAsync("GET", path, ""))["Cache-Status"], StringComparison.Ordinal);
        }

        async Task<RawResponse> SendAsync(string method, string asked, string more)
        {
            await connection.SendRawAsync($"{method} {asked} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
            return (await connection.ReadAsync()).Head;
        }
    }
}
