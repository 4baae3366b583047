using System.Text;
using System.Text.Json;
using CachingService.Tests.Disk;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Admin;

/// <summary>What <c>POST /purge</c> says it has hit, and that a tag is the same bytes there as in the origin's field.</summary>
public sealed class PurgeAnswerTests
{
    [Theory]
    [InlineData("caf%C3%A9", "tag=caf%C3%A9", true)]
    [InlineData("one %C3%A9", "tag=%c3%a9", true)]
    [InlineData("%E9", "tag=%E9", true)]
    [InlineData("%E9", "tag=%C3%A9", false)]
    [InlineData("%C3%A9", "tag=%E9", false)]
    [InlineData("%E2%82%AC", "tag=%E2%82%AC", true)]
    [InlineData("%FF%FE", "tag=%FF%FE", true)]
    [InlineData("a+b", "tag=a+b", true)]
    [InlineData("a+b", "tag=a%2Bb", true)]
    [InlineData("100%", "tag=100%25", true)]
    [InlineData("100%", "tag=100%", true)]
    public async Task Tag_OfAnyBytes_IsComparedByteForByte(string field, string query, bool isHit)
    {
        string tags = Encoding.Latin1.GetString(Unescape(field));
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            $"{exchange.Number}", $"Cache-Control: max-age=60\r\nSurrogate-Key: {tags}\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.StoreAsync("/object/a");

        JsonElement answer = await PurgeAsync(service, query);

        Assert.Equal(isHit ? 1 : 0, answer.GetProperty("objects").GetInt32());
        Assert.Equal(isHit ? "2" : "1", (await service.FetchAsync("/object/a")).Body);
    }

    [Theory]
    [InlineData("%C3%A9", "\u00E9")]
    [InlineData("%E2%82%AC%25", "\u20AC%")]
    [InlineData("%E9", "%E9")]
    [InlineData("50%25-%E9", "50%25-%E9")]
    [InlineData("%ED%A0%80", "%ED%A0%80")]
    public async Task Tag_OfAnyBytes_IsShownAsTextOrAsAQueryHasIt(string field, string shown)
    {
        string tags = Encoding.Latin1.GetString(Unescape(field));
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", $"Cache-Control: max-age=60\r\nSurrogate-Key: {tags}\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.StoreAsync("/object/a");

        JsonElement entry = JsonDocument.Parse((await service.AskAdminAsync("GET", "/entry?key=a")).Body).RootElement;

        Assert.Equal(shown, entry.GetProperty("variants")[0].GetProperty("tags")[0].GetString());
        Assert.Equal(shown, (await PurgeAsync(service, "tag=" + field)).GetProperty("tag").GetString());
    }

    [Theory]
    [InlineData("tag=shared", 2)]
    [InlineData("tag=a", 1)]
    [InlineData("tag=shard", 0)]
    [InlineData("key=a", 1)]
    [InlineData("key=c", 0)]
    [InlineData("prefix=d/", 2)]
    [InlineData("prefix=d/e/", 1)]
    [InlineData("prefix=e/", 0)]
    [InlineData("all", 5)]
    public async Task Purge_SaysHowManyObjectsItHasHit(string query, int expected)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            "x", exchange.Target.EndsWith("plain", StringComparison.Ordinal) ? "Cache-Control: max-age=60\r\n" : $"Cache-Control: max-age=60\r\nSurrogate-Key: shared {exchange.Target[1..]}\r\n"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        foreach (string id in (string[])["a", "b", "plain", "d/plain", "d/e/plain"])
        {
            await service.StoreAsync("/object/" + id);
        }

        JsonElement answer = await PurgeAsync(service, query);

        Assert.Equal((expected, 0), (answer.GetProperty("objects").GetInt32(), answer.GetProperty("fills").GetInt32()));
        Assert.False(answer.TryGetProperty("diskObjects", out _));

        // By then the sweep has removed what was purged.
        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(0, (await PurgeAsync(service, query)).GetProperty("objects").GetInt32());
    }

    [Theory]
    [InlineData("tag=red", 1)]
    [InlineData("tag=green", 0)]
    [InlineData("key=tagged", 1)]
    [InlineData("key=nothing", 0)]
    [InlineData("prefix=d/", 1)]
    [InlineData("prefix=tagged/", 0)]
    [InlineData("all", 4)]
    public async Task Purge_SaysHowManyObjectsOfTheDiskItHasHit(string query, int expected)
    {
        using TokenFile token = new();
        await using DiskScene scene = await DiskScene.StartAsync(token.Option);
        await scene.DemoteAsync("tagged");
        await scene.DemoteAsync("plain");
        await scene.DemoteAsync("d/plain");
        Assert.Equal(4, scene.Service.Host.Cache.Disk!.Count);

        JsonElement answer = await PurgeAsync(scene.Service, query);

        Assert.Equal(expected, answer.GetProperty("diskObjects").GetInt32());
    }

    [Theory]
    [InlineData("tag=one", true, 1)]
    [InlineData("tag=two", true, 0)]
    [InlineData("tag=two", false, 1)]
    [InlineData("key=d/a", true, 1)]
    [InlineData("key=d/a&soft", false, 1)]
    [InlineData("key=d/b", true, 0)]
    [InlineData("prefix=d/", true, 1)]
    [InlineData("prefix=d/", false, 1)]
    [InlineData("prefix=e/", true, 0)]
    [InlineData("prefix=e/", false, 0)]
    [InlineData("all", true, 1)]
    public async Task Purge_SaysHowManyFillsItMayConcern(string query, bool hasHeaders, int expected)
    {
        TaskCompletionSource rest = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await (hasHeaders ? Task.CompletedTask : rest.Task);
            await exchange.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=60\r\nSurrogate-Key: one\r\n\r\nx");
            await rest.Task;
            await exchange.SendAsync("y");
        });
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await using RawClient first = await service.GetAsync("/object/d/a");
        await Eventually.TrueAsync(() => origin.RequestCount == 1, "request at the origin");
        if (hasHeaders)
        {
            await first.ReadHeadAsync();
        }

        JsonElement answer = await PurgeAsync(service, query);

        rest.SetResult();
        Assert.Equal((0, expected), (answer.GetProperty("objects").GetInt32(), answer.GetProperty("fills").GetInt32()));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Key_ThatIsNowhere_Is404AndItsPurgeHolds()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        using TokenFile token = new();
        await using TestService service = await TestService.StartAsync(origin.Url, token.Option);
        await service.StoreAsync("/object/d/a");

        Assert.Equal((404, 0), await StatusAsync("key=d/b"));

        // What another purge has made of no use counts no more, though it is still in memory.
        Assert.Equal((200, 1), await StatusAsync("prefix=d/"));
        Assert.Equal((404, 0), await StatusAsync("key=d/a"));
        Assert.Equal((404, 0), await StatusAsync("key=d/a&soft"));

        // Of what more than one object may have, none is an answer like any other.
        service.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal((200, 0), await StatusAsync("prefix=d/"));
        Assert.Equal((200, 0), await StatusAsync("tag=x"));
        Assert.Equal((200, 0), await StatusAsync("all"));

        async Task<(int Status, int Objects)> StatusAsync(string query)
        {
            (RawResponse head, string body) = await service.AskAdminAsync("POST", "/purge?" + query);
            return (head.Status, JsonDocument.Parse(body).RootElement.GetProperty("objects").GetInt32());
        }
    }

    private static async Task<JsonElement> PurgeAsync(TestService service, string query)
    {
        (RawResponse head, string body) = await service.AskAdminAsync("POST", "/purge?" + query);
        JsonElement answer = JsonDocument.Parse(body).RootElement;
        bool isNowhere = query.StartsWith("key=", StringComparison.Ordinal) && !HasHit("objects") && !HasHit("diskObjects") && !HasHit("fills");
        Assert.Equal(isNowhere ? 404 : 200, head.Status);
        return answer;

        bool HasHit(string count) => answer.TryGetProperty(count, out JsonElement value) && value.GetInt32() > 0;
    }

    private static byte[] Unescape(string text) => System.Web.HttpUtility.UrlDecodeToBytes(text.Replace("+", "%2B", StringComparison.Ordinal));
}
