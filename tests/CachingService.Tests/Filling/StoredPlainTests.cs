using System.IO.Compression;
using System.Text;
using CachingService.Tests.Infrastructure;
using ZstdSharp;

namespace CachingService.Tests.Filling;

/// <summary>Compressed variants that are made of the stored plain form, without a request at the origin.</summary>
public sealed class StoredPlainTests
{
    private const string Text = "Content-Type: text/html\r\nCache-Control: max-age=60\r\n";
    private const string Tagged = Text + "ETag: \"x\"\r\n";
    private const string Made = "CachingService; hit; ttl=60; detail=compressed";

    private static readonly string s_page = string.Concat(Enumerable.Range(0, 50_000).Select(static number => $"<p>{number}</p>"));

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Variants_OfOneKey_AreOneRequestAtTheOrigin(bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => isLengthKnown
            ? exchange.AnswerAsync(s_page, Tagged)
            : exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Tagged}Transfer-Encoding: chunked\r\n\r\n{s_page.Length:x}\r\n{s_page}\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=zstd,br,gzip");
        string plain = (await service.FetchAsync("/object/a")).Body;

        foreach (string coding in new[] { "br", "gzip", "zstd" })
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", Accept(coding));
            RawResponse hit = (await service.FetchAsync("/object/a", Accept(coding))).Head;

            Assert.Equal((Made, coding, "W/\"x\"", "Accept-Encoding", "0"), (head.CacheStatus, head["Content-Encoding"], head["ETag"], head["Vary"], head["Age"]));
            Assert.True(Decode(body, coding) == plain);
            Assert.Equal(("CachingService; hit; ttl=60", coding), (hit.CacheStatus, hit["Content-Encoding"]));
        }

        Assert.True(plain == s_page);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Variant_IsNotFresherThanThePlainForm()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(40));

        RawResponse made = (await service.FetchAsync("/object/a", Accept("gzip"))).Head;
        service.Time.Advance(TimeSpan.FromSeconds(21));
        RawResponse stale = (await service.FetchAsync("/object/a", Accept("gzip"))).Head;

        Assert.Equal(("CachingService; hit; ttl=20; detail=compressed", "40"), (made.CacheStatus, made["Age"]));
        Assert.StartsWith("CachingService; fwd=stale; fwd-status=200", stale.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Plain_ThatIsStale_IsNotUsed()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip");
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(61));

        RawResponse head = (await service.FetchAsync("/object/a", Accept("gzip"))).Head;

        Assert.Equal(("CachingService; fwd=vary-miss; fwd-status=200; stored", "gzip"), (head.CacheStatus, head["Content-Encoding"]));
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Plain_OfAnotherVariant_IsNotUsed()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Text + "Vary: Accept-Language\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip");
        await service.FetchAsync("/object/a", "Accept-Language: de\r\n");

        RawResponse same = (await service.FetchAsync("/object/a", Accept("gzip") + "Accept-Language: de\r\n")).Head;
        RawResponse other = (await service.FetchAsync("/object/a", Accept("gzip") + "Accept-Language: fr\r\n")).Head;

        Assert.Equal((Made, "gzip"), (same.CacheStatus, same["Content-Encoding"]));
        Assert.Equal(("CachingService; fwd=vary-miss; fwd-status=200; stored", "gzip"), (other.CacheStatus, other["Content-Encoding"]));
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Plain_OlderThanTheStaleVariant_IsNotUsed()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(
            s_page + exchange.Number,
            $"Content-Type: text/html\r\nCache-Control: max-age={(exchange.Number == 1 ? 60 : 10)}\r\nETag: \"{exchange.Number}\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip", "--Cache:RequestDirectives=Honour", "--Cache:KeepStale=60s");
        await service.FetchAsync("/object/a");
        await service.FetchAsync("/object/a", Accept("gzip") + "Cache-Control: no-cache\r\n");
        service.Time.Advance(TimeSpan.FromSeconds(11));

        string body = (await service.FetchAsync("/object/a", Accept("gzip"))).Body;

        Assert.EndsWith("</p>3", Decode(body, "gzip"), StringComparison.Ordinal);
        Assert.Equal(3, origin.RequestCount);
    }

    [Fact]
    public async Task Purge_WhileItIsMade_ConcernsTheVariantToo()
    {
        string large = string.Concat(Enumerable.Repeat(s_page, 16));
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(large, Text));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br", "--Cache:PurgeFrom=127.0.0.1");
        await service.FetchAsync("/object/a");
        await using RawClient client = await service.GetAsync("/object/a", Accept("br"));
        RawResponse made = await client.ReadHeadAsync();

        Assert.Equal(200, (await service.FetchAsync("/object/a", method: "PURGE")).Head.Status);
        RawResponse next = (await service.FetchAsync("/object/a", Accept("br"))).Head;

        Assert.Equal(Made, made.CacheStatus);
        Assert.StartsWith("CachingService; fwd=", next.CacheStatus, StringComparison.Ordinal);
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Waiters_ForOneVariant_HaveItMadeOnce()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=zstd");
        await service.FetchAsync("/object/a");

        (RawResponse Head, string Body)[] answers = await Task.WhenAll(
            Enumerable.Range(0, 20).Select(_ => service.FetchAsync("/object/a", Accept("zstd"))));
        await using RawClient head = await service.GetAsync("/object/a", Accept("zstd"), "HEAD");
        await using RawClient asker = await service.GetAsync("/object/a", Accept("zstd") + "If-None-Match: \"x\"\r\n");

        Assert.All(answers, answer => Assert.True(answer.Head["Content-Encoding"] == "zstd" && answer.Body == answers[0].Body));
        Assert.Equal("zstd", (await head.ReadAsync(isHead: true)).Head["Content-Encoding"]);
        Assert.Equal(304, (await asker.ReadAsync(isHead: true)).Head.Status);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Plain_OfTheDisk_IsUsedAfterARestart()
    {
        string directory = Directory.CreateTempSubdirectory("plain-").FullName;
        string[] options = ["--Cache:Compress=zstd", $"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB"];
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            await service.FetchAsync("/object/a");
        }

        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", Accept("zstd"));

            Assert.Equal((Made, "W/\"x\""), (head.CacheStatus, head["ETag"]));
            Assert.True(Decode(body, "zstd") == s_page);
            Assert.Equal(1, origin.RequestCount);
            await service.IsAtRestAsync();
        }

        Directory.Delete(directory, recursive: true);
    }

    private static string Accept(string coding) => $"Accept-Encoding: {coding}\r\n";

    private static string Decode(string body, string coding)
    {
        using MemoryStream encoded = new(Encoding.Latin1.GetBytes(body));
        using Stream decoder = coding switch
        {
            "br" => new BrotliStream(encoded, CompressionMode.Decompress),
            "gzip" => new GZipStream(encoded, CompressionMode.Decompress),
            _ => new DecompressionStream(encoded),
        };
        using MemoryStream decoded = new();
        decoder.CopyTo(decoded);
        return Encoding.Latin1.GetString(decoded.ToArray());
    }
}
