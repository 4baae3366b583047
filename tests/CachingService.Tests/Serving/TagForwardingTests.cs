using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>A cache in front that an option lists gets the tags, and can be purged by them; nobody else does.</summary>
public sealed class TagForwardingTests
{
    private const string Tagged = "Cache-Control: max-age=60\r\nETag: \"v\"\r\nSurrogate-Key: one\r\nSurrogate-Key: caf\u00C3\u00A9\r\nCache-Groups: \"group\"\r\n";

    [Theory]
    [InlineData("", null)]
    [InlineData("192.0.2.0/24;unix", null)]
    [InlineData("192.0.2.0/24;127.0.0.1", "one, caf\u00C3\u00A9")]
    public async Task Tags_GoToThePeersThatAreListed(string listed, string? expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("hello", Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:ForwardTagsTo={listed}");
        foreach ((string method, string fields, int status) in ((string, string, int)[])
        [
            ("GET", "Cookie: a=b\r\n", 200), ("GET", "", 200), ("GET", "", 200), ("HEAD", "", 200), ("GET", "Range: bytes=1-2\r\n", 206),
            ("GET", "If-None-Match: \"v\"\r\n", 304),
        ])
        {
            await using RawClient client = await service.GetAsync("/object/a", fields, method);
            RawResponse head = await client.ReadHeadAsync();

            Assert.Equal((status, expected, "\"group\""), (head.Status, head["Surrogate-Key"], head["Cache-Groups"]));
        }
    }

    [Theory]
    [InlineData("one")]
    [InlineData("caf%C3%A9")]
    [InlineData("group")]
    public async Task Purge_ByTagAtTheEdge_HasItAskTheInnerTier(string tag)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}", Tagged));
        using TokenFile token = new();
        await using TestService inner = await TestService.StartAsync(origin.Url, token.Option, "--Cache:ForwardTagsTo=127.0.0.1");
        await using TestService edge = await TestService.StartAsync(inner.Url + "/object", token.Option);
        await edge.StoreAsync("/object/a");

        await inner.AskAdminAsync("POST", "/purge?tag=" + tag);
        Assert.Equal("1", (await edge.FetchAsync("/object/a")).Body);
        (_, string answer) = await edge.AskAdminAsync("POST", "/purge?tag=" + tag);

        Assert.Contains("\"objects\": 1", answer, StringComparison.Ordinal);
        (RawResponse head, string body) = await edge.FetchAsync("/object/a");
        Assert.Equal(("2", null), (body, head["Surrogate-Key"]));
    }

    [Fact]
    public async Task Tags_ThatAConfirmationChanges_ReachTheEdge()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is null
            ? exchange.AnswerAsync("x", Tagged)
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nCache-Control: max-age=600\r\nSurrogate-Key: new\r\nCache-Groups: \"other\"\r\n\r\n"));
        using TokenFile token = new();
        await using TestService inner = await TestService.StartAsync(origin.Url, "--Cache:ForwardTagsTo=127.0.0.1");
        await using TestService edge = await TestService.StartAsync(inner.Url + "/object", token.Option);
        await edge.StoreAsync("/object/a");
        inner.Time.Advance(TimeSpan.FromSeconds(61));
        edge.Time.Advance(TimeSpan.FromSeconds(61));

        Assert.Contains("fwd=stale; fwd-status=304", (await edge.FetchAsync("/object/a")).Head.CacheStatus, StringComparison.Ordinal);
        await edge.IsAtRestAsync();

        foreach ((string tag, int objects) in ((string, int)[])[("one", 0), ("group", 0), ("new", 1), ("other", 1)])
        {
            Assert.Contains($"\"objects\": {objects}", (await edge.AskAdminAsync("POST", $"/purge?soft&tag={tag}")).Body, StringComparison.Ordinal);
        }
    }
}
