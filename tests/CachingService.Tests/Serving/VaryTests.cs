using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Stored responses that differ by request fields.</summary>
public sealed class VaryTests
{
    private const string French = "Accept-Language: fr\r\n";
    private const string German = "Accept-Language: de\r\n";

    [Theory]
    [InlineData("Vary: Accept-Language", "Accept-Language: de", "accept-language:  de", true)]
    [InlineData("Vary: Accept-Language", "Accept-Language: de", "Accept-Language: fr", false)]
    [InlineData("Vary: Accept-Language", "Accept-Language: de", "", false)]
    [InlineData("Vary: Accept-Language", "", "Accept-Language: de", false)]
    [InlineData("Vary: Accept-Language", "Accept-Language: de-AT, en;q=0.5", "Accept-Language: De-at ,en ;\tQ=0.5", true)]
    [InlineData("Vary: Accept-Language", "Accept-Language: de,en", "Accept-Language: de\r\nAccept-Language: EN", true)]
    [InlineData("Vary: Accept-Language", "Accept-Language: de, en", "Accept-Language: en, de", false)]
    [InlineData("Vary: Accept-Language", "X: 1", "X: 2", true)]
    [InlineData("vARY: x\r\nVary: Y", "X: 1\r\nY: 1", "Y: 1\r\nX: 1", true)]
    [InlineData("vARY: x\r\nVary: Y", "X: 1\r\nY: 1", "X: 1\r\nY: 2", false)]
    [InlineData("Vary: X", "X: a\r\nX: b", "X: a, b", true)]
    [InlineData("Vary: X", "X:", "", false)]
    [InlineData("Vary: Cookie", "X: 1", "X: 2", true)]
    [InlineData("Vary: X-Forwarded-Proto, Range", "X-Forwarded-Proto: https", "X-Forwarded-Proto: http", true)]
    [InlineData("Vary: Authorization", "", "Authorization: x", false)]
    [InlineData("Vary: User-Agent", "User-Agent: a", "User-Agent: b", false)]
    [InlineData("Vary: Accept-Encoding", "Accept-Encoding: gzip, deflate, br", "Accept-Encoding: br;q=1.0,gzip;q=0.2", true)]
    [InlineData("Vary: Accept-Encoding", "Accept-Encoding: gzip", "Accept-Encoding: gzip, br", false)]
    [InlineData("Vary: Accept-Encoding", "", "Accept-Encoding: identity", true)]
    [InlineData("Content-Encoding: gzip", "Accept-Encoding: gzip", "Accept-Encoding: x-gzip", true)]
    [InlineData("Content-Encoding: gzip", "Accept-Encoding: gzip", "", false)]
    [InlineData("Content-Encoding: gzip", "Accept-Encoding: gzip", "Accept-Encoding: gzip;q=0", false)]
    [InlineData("X: 1", "Accept-Encoding: gzip", "Accept-Encoding: zstd, *;q=0", true)]
    public async Task Stored_ForOneRequest_IsForOthersThatSendTheSame(string answer, string first, string second, bool isSame)
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", $"Cache-Control: max-age=60\r\n{answer}\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        (first, second) = (first + (first == "" ? "" : "\r\n"), second + (second == "" ? "" : "\r\n"));

        // Fields that a fetch does not carry unasked are asked for once more.
        string stored = (await service.FetchAsync("/object/a", first)).Body;
        string other = (await service.FetchAsync("/object/a", second)).Body;
        (RawResponse head, string body) = await service.FetchAsync("/object/a", first);

        Assert.Equal(isSame, stored == other);
        Assert.Equal((stored, "CachingService; hit; ttl=60"), (body, head.CacheStatus));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Languages_AreSentAsTheyAreCompared()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await service.FetchAsync("/object/a", "Accept-Language: DE-at , en ; q=0.5\r\n");

        Assert.Equal("de-AT,en;q=0.5", Assert.Single(origin.Exchanges).Field("Accept-Language"));
    }

    [Fact]
    public async Task Miss_BesideOtherVariants_IsAVaryMiss()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        RawResponse first = (await service.FetchAsync("/object/a", German)).Head;
        RawResponse second = (await service.FetchAsync("/object/a", French)).Head;
        service.Time.Advance(TimeSpan.FromSeconds(60));
        RawResponse expired = (await service.FetchAsync("/object/a", German)).Head;

        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", first.CacheStatus);
        Assert.Equal("CachingService; fwd=vary-miss; fwd-status=200; stored", second.CacheStatus);
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", expired.CacheStatus);

        // The other one has left with the time that has gone by.
        Assert.Equal(1, service.Host.Cache.Store.Count);
    }

    [Fact]
    public async Task Variants_EachHaveTheirOwnTagAndRanges()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(
            exchange.Field("Accept-Encoding") == "br, gzip" ? "coded!" : "plain text",
            "Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\n"
            + (exchange.Field("Accept-Encoding") == "br, gzip" ? "Content-Encoding: br\r\nETag: \"coded\"\r\n" : "ETag: \"plain\"\r\n")));
        await using TestService service = await TestService.StartAsync(origin.Url);
        const string Codings = "Accept-Encoding: gzip, br\r\n";
        await service.FetchAsync("/object/a", Codings);
        await service.FetchAsync("/object/a");

        (RawResponse coded, string part) = await service.FetchAsync("/object/a", Codings + "Range: bytes=-2\r\n");
        (RawResponse plain, string otherPart) = await service.FetchAsync("/object/a", "Range: bytes=-2\r\nIf-Range: \"coded\"\r\n");
        await using RawClient same = await service.GetAsync("/object/a", Codings + "If-None-Match: \"coded\"\r\n");
        RawResponse unchanged = await same.ReadHeadAsync();
        (RawResponse changed, string all) = await service.FetchAsync("/object/a", "If-None-Match: \"coded\"\r\n");
        RawResponse head = (await service.FetchAsync("/object/a", Codings, "HEAD")).Head;

        Assert.Equal((206, "d!", "br", "bytes 4-5/6"), (coded.Status, part, coded["Content-Encoding"], coded["Content-Range"]));
        Assert.Equal((200, "plain text", null), (plain.Status, otherPart, plain["Content-Encoding"]));
        Assert.Equal((304, "\"coded\"", "Accept-Encoding"), (unchanged.Status, unchanged["ETag"], unchanged["Vary"]));
        Assert.Equal((200, "plain text"), (changed.Status, all));
        Assert.Equal((200, "6", "Accept-Encoding", "br"), (head.Status, head["Content-Length"], head["Vary"], head["Content-Encoding"]));
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Head_OfAnotherVariant_FetchesIt()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync("hello", "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a", German);

        RawResponse head = (await service.FetchAsync("/object/a", French, "HEAD")).Head;

        Assert.Equal("CachingService; fwd=vary-miss; fwd-status=200; stored", head.CacheStatus);
        Assert.Equal([("GET", "de"), ("GET", "fr")], origin.Exchanges.Select(exchange => (exchange.Method, exchange.Field("Accept-Language"))));
    }

    [Fact]
    public async Task Variants_OverTheirNumber_DropTheOldest()
    {
        await using ScriptedOrigin origin = new(exchange =>
            exchange.AnswerAsync($"{exchange.Number}", "Cache-Control: max-age=60\r\nVary: Origin\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:MaxVariants=2");
        for (int number = 1; number <= 3; number++)
        {
            await service.FetchAsync("/object/a", $"Origin: {number}\r\n");
        }

        Assert.Equal((2, 1L), (service.Host.Cache.Store.Count, service.Host.Cache.Store.VariantEvictions));
        Assert.Equal("3", (await service.FetchAsync("/object/a", "Origin: 3\r\n")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a", "Origin: 2\r\n")).Body);
        Assert.Equal("4", (await service.FetchAsync("/object/a", "Origin: 1\r\n")).Body);
    }

    [Fact]
    public async Task Client_ThatRefusesAllThatAFillCouldAskFor_GoesAloneUnlessStored()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync($"{exchange.Number}"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        const string Refusing = "Accept-Encoding: zstd, *;q=0\r\n";

        (RawResponse alone, string body) = await service.FetchAsync("/object/a", Refusing);

        Assert.Equal(("1", "CachingService; fwd=bypass; fwd-status=200; detail=accept-encoding"), (body, alone.CacheStatus));
        Assert.Equal("zstd, *;q=0", Assert.Single(origin.Exchanges).Field("Accept-Encoding"));
        Assert.Equal("2", (await service.FetchAsync("/object/a")).Body);
        Assert.Equal("2", (await service.FetchAsync("/object/a", Refusing)).Body);
    }
}
