using System.IO.Compression;
using System.Text;
using CachingService.Tests.Infrastructure;
using ZstdSharp;

namespace CachingService.Tests.Filling;

/// <summary>Responses that are compressed here: <c>Cache:Compress</c>.</summary>
public sealed class CompressionTests
{
    private const string Text = "Content-Type: text/html; charset=utf-8\r\nCache-Control: max-age=60\r\n";
    private const string Tagged = Text + "ETag: \"x\"\r\n";
    private const string Both = "Accept-Encoding: gzip, deflate, br, zstd\r\n";

    private const string On = "--Cache:Compress=br,gzip";

    private static readonly string s_page = string.Concat(Enumerable.Range(0, 5_000).Select(static number => $"<p>{number}</p>"));

    [Theory]
    [InlineData("br,gzip", Both, "br")]
    [InlineData("gzip,br", Both, "gzip")]
    [InlineData("br,gzip", "Accept-Encoding: gzip\r\n", "gzip")]
    [InlineData("gzip", Both, "gzip")]
    [InlineData("br,gzip", "Accept-Encoding: br;q=0, *\r\n", "gzip")]
    [InlineData("zstd,br,gzip", Both, "zstd")]
    [InlineData("br,zstd", Both, "br")]
    [InlineData("zstd,gzip", "Accept-Encoding: zstd;q=0, gzip\r\n", "gzip")]
    [InlineData("zstd,gzip", "Accept-Encoding: zstd\r\n", "zstd")]
    [InlineData("zstd,gzip", "Accept-Encoding: *;q=0.1\r\n", "zstd")]
    public async Task Response_IsCompressedOnce_ForWhomCanReadIt(string codings, string accept, string coding)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(
            s_page, Tagged + "Content-Digest: sha-256=:AA==:\r\nContent-MD5: AA==\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:Compress={codings}");

        (RawResponse first, string body) = await service.FetchAsync("/object/a", accept);
        (RawResponse second, string stored) = await service.FetchAsync("/object/a", accept);

        Assert.Equal(s_page, Decode(body, coding));
        Assert.Equal((coding, "Accept-Encoding", "W/\"x\"", null), (first["Content-Encoding"], first["Vary"], first["ETag"], first["Content-Length"]));
        Assert.Equal((null, null), (first["Content-Digest"], first["Content-MD5"]));
        Assert.Equal("CachingService; fwd=uri-miss; fwd-status=200; stored", first.CacheStatus);
        Assert.Equal(("CachingService; hit; ttl=60", coding, "W/\"x\""), (second.CacheStatus, second["Content-Encoding"], second["ETag"]));
        Assert.Equal(body, stored);
        Assert.InRange(body.Length, 1, s_page.Length / 3);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("")]
    [InlineData("Accept-Encoding: deflate\r\n")]
    [InlineData("Accept-Encoding: br;q=0, gzip;q=0\r\n")]
    public async Task Client_ThatCannotReadIt_GetsAVariantOfItsOwn(string accept)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br");

        (RawResponse plain, string body) = await service.FetchAsync("/object/a", accept);
        RawResponse coded = (await service.FetchAsync("/object/a", Both)).Head;
        RawResponse again = (await service.FetchAsync("/object/a", accept)).Head;

        Assert.Equal(s_page, body);
        Assert.Equal((null, "Accept-Encoding", "\"x\""), (plain["Content-Encoding"], plain["Vary"], plain["ETag"]));
        Assert.Equal(("br", "CachingService; hit; ttl=60; detail=compressed"), (coded["Content-Encoding"], coded.CacheStatus));
        Assert.Equal((null, "CachingService; hit; ttl=60"), (again["Content-Encoding"], again.CacheStatus));
        Assert.Equal(1, origin.RequestCount);
    }

    [Fact]
    public async Task Variants_DifferByTheCodingAlone_AndTheOriginIsAskedForNoneThatOnlyWeMake()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=zstd,gzip");
        string[] spellings = [Both, "Accept-Encoding: zstd\r\n", "Accept-Encoding: br, zstd;q=0.1\r\n", "Accept-Encoding: *\r\n"];
        string[] others = ["Accept-Encoding: br, gzip\r\n", "Accept-Encoding: gzip, identity;q=0\r\n"];

        foreach (string accept in spellings)
        {
            Assert.Equal("zstd", (await service.FetchAsync("/object/a", accept)).Head["Content-Encoding"]);
        }

        Assert.Equal(1, origin.RequestCount);
        Assert.Equal("br, gzip", origin.Exchanges[0].Field("Accept-Encoding"));
        foreach (string accept in others)
        {
            Assert.Equal("gzip", (await service.FetchAsync("/object/a", accept)).Head["Content-Encoding"]);
        }

        Assert.Equal(2, origin.RequestCount);
        Assert.DoesNotContain("codings", origin.Exchanges[1].Head, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Origin_ThatNamesAcceptEncoding_IsAskedForItsOwnForms()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.Field("Accept-Encoding") == "gzip"
            ? exchange.AnswerAsync("coded", Text + "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n")
            : exchange.AnswerAsync(s_page, Text + "Vary: Accept-Encoding\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=zstd,gzip");

        (RawResponse plain, string page) = await service.FetchAsync("/object/a");
        string own = (await service.FetchAsync("/object/a", "Accept-Encoding: gzip\r\n")).Body;
        RawResponse made = (await service.FetchAsync("/object/a", "Accept-Encoding: gzip, br\r\n")).Head;
        RawResponse smaller = (await service.FetchAsync("/object/a", Both)).Head;

        Assert.Equal((null, s_page, "coded"), (plain["Content-Encoding"], page, own));
        Assert.Equal(("gzip", "zstd"), (made["Content-Encoding"], smaller["Content-Encoding"]));
        Assert.All([plain, made, smaller], static head => Assert.Equal("Accept-Encoding", head["Vary"]));
        Assert.Equal(4, origin.RequestCount);
    }

    [Theory]
    [InlineData("Content-Type: text/html\r\nCache-Control: max-age=60, no-transform\r\n")]
    [InlineData("Content-Type: text/html\r\nCache-Control: max-age=60\r\nCDN-Cache-Control: max-age=60, no-transform\r\n")]
    [InlineData("Content-Type: text/html\r\nCache-Control: max-age=60\r\nContent-Encoding: deflate\r\n")]
    [InlineData("Content-Type: image/png\r\nCache-Control: max-age=60\r\n")]
    [InlineData("Cache-Control: max-age=60\r\n")]
    [InlineData(Text, "--Cache:CompressTypes=application/json")]
    [InlineData(Text, "--Cache:CompressMinBytes=1MiB")]
    [InlineData(Text, "--Cache:MaxObjectBytes=8KiB")]
    [InlineData(Text, "--Cache:Compress=")]
    [InlineData("Content-Type: text/html\r\nCache-Control: private\r\n")]
    public async Task Response_ThatIsNotToBeCompressed_IsAsItCame(string fields, string option = On)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(s_page, fields));
        await using TestService service = await TestService.StartAsync(
            origin.Url, option.StartsWith(On.Split('=')[0] + "=", StringComparison.Ordinal) ? [option] : [On, option]);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Both);

        Assert.Equal(s_page, body);
        Assert.Equal(
            (fields.Contains("deflate", StringComparison.Ordinal) ? "deflate" : null, null, s_page.Length.ToString()),
            (head["Content-Encoding"], head["Vary"], head["Content-Length"]));
    }

    [Fact]
    public async Task Error_IsAsItCame()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.SendAsync(
            $"HTTP/1.1 404 X\r\n{Text}Content-Length: {s_page.Length}\r\n\r\n{s_page}"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Both);

        Assert.Equal((404, null, s_page), (head.Status, head["Content-Encoding"], body));
    }

    [Theory]
    [InlineData("br")]
    [InlineData("gzip")]
    [InlineData("zstd")]
    public async Task LiveBody_CanBeReadAsFarAsItHasCome_ByAllWhoWait(string coding)
    {
        TaskCompletionSource go = new();
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Text}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
            await go.Task;
            await exchange.SendAsync("6\r\nsecond\r\n0\r\n\r\n");
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:Compress={coding}");
        List<RawClient> clients = [];
        for (int number = 0; number < 20; number++)
        {
            clients.Add(await service.GetAsync("/object/a", Both));
        }

        List<byte>[] received = [.. clients.Select(static _ => new List<byte>())];
        foreach ((int index, RawClient client) in clients.Index())
        {
            Assert.Equal(coding, (await client.ReadHeadAsync())["Content-Encoding"]);
            while (DecodeStart(received[index], coding) != "first")
            {
                received[index].AddRange(Encoding.Latin1.GetBytes(await client.ReadChunkAsync()));
            }
        }

        go.SetResult();
        foreach ((int index, RawClient client) in clients.Index())
        {
            for (string chunk = "?"; chunk.Length > 0;)
            {
                chunk = await client.ReadChunkAsync();
                received[index].AddRange(Encoding.Latin1.GetBytes(chunk));
            }

            Assert.Equal("firstsecond", Decode(Encoding.Latin1.GetString([.. received[index]]), coding));
        }

        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
        clients.ForEach(client => client.Vanish());
    }

    [Theory]
    [InlineData(Both)]
    [InlineData("")]
    public async Task Variant_IsConfirmedByTheTagOfTheOrigin(string accept)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.Number == 1
            ? exchange.AnswerAsync(s_page, Tagged)
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nVary: Origin\r\nCache-Control: max-age=60\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br");
        (RawResponse first, string body) = await service.FetchAsync("/object/a", accept);
        service.Time.Advance(TimeSpan.FromSeconds(61));

        (RawResponse confirmed, string same) = await service.FetchAsync("/object/a", accept);
        RawResponse hit = (await service.FetchAsync("/object/a", accept)).Head;

        Assert.Equal("CachingService; fwd=stale; fwd-status=304", confirmed.CacheStatus);
        Assert.Equal(body, same);
        Assert.All([confirmed, hit], head => Assert.Equal(
            (first["Content-Encoding"], first["ETag"], "Origin, Accept-Encoding"), (head["Content-Encoding"], head["ETag"], head["Vary"])));
        Assert.Equal(first["ETag"], origin.Exchanges[1].Field("If-None-Match"));
        Assert.Equal(2, origin.RequestCount);
    }

    [Fact]
    public async Task Variant_ThatHasChanged_IsCompressedAnew()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page + exchange.Number, $"{Text}ETag: \"{exchange.Number}\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br");
        await service.FetchAsync("/object/a", Both);
        service.Time.Advance(TimeSpan.FromSeconds(61));

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Both);

        Assert.Equal((s_page + "2", "W/\"2\""), (Decode(body, "br"), head["ETag"]));
    }

    [Theory]
    [InlineData("br")]
    [InlineData("zstd")]
    public async Task Conditions_OfClients_AreComparedWithTheWeakTag(string coding)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:Compress={coding}");
        string body = (await service.FetchAsync("/object/a", Both)).Body;

        await using RawClient asker = await service.GetAsync("/object/a", Both + "If-None-Match: \"x\"\r\n");
        RawResponse unchanged = (await asker.ReadAsync(isHead: true)).Head;
        (RawResponse part, string bytes) = await service.FetchAsync("/object/a", Both + "Range: bytes=5-9\r\n");
        (RawResponse whole, string all) = await service.FetchAsync("/object/a", Both + "Range: bytes=5-9\r\nIf-Range: W/\"x\"\r\n");
        await using RawClient client = await service.GetAsync("/object/a", Both, "HEAD");
        RawResponse head = (await client.ReadAsync(isHead: true)).Head;

        Assert.Equal(304, unchanged.Status);
        Assert.Equal((206, $"bytes 5-9/{body.Length}", body[5..10]), (part.Status, part["Content-Range"], bytes));
        Assert.Equal((200, body), (whole.Status, all));
        Assert.Equal((200, coding, "W/\"x\""), (head.Status, head["Content-Encoding"], head["ETag"]));
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("zstd")]
    public async Task Body_ThatBreaks_HasNoEnd(string coding)
    {
        TaskCompletionSource hasBegun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Text}Content-Length: 100000\r\n\r\n{s_page[..40_000]}");
            await hasBegun.Task.WaitAsync(Patience.Limit);
            exchange.Close();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:Compress={coding}");
        await using RawClient client = await service.GetAsync("/object/a", Both);

        RawResponse head = await client.ReadHeadAsync();
        hasBegun.SetResult();

        Assert.Equal((200, coding), (head.Status, head["Content-Encoding"]));
        Assert.DoesNotContain("\r\n0\r\n\r\n", await client.ReadToCloseAsync(), StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Purge_TakesAllVariants()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Text));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=br", "--Cache:PurgeFrom=127.0.0.1");
        await service.FetchAsync("/object/a", Both);
        await service.FetchAsync("/object/a");
        Assert.Equal(200, (await service.FetchAsync("/object/a", method: "PURGE")).Head.Status);

        await service.FetchAsync("/object/a", Both);
        await service.FetchAsync("/object/a");

        Assert.Equal(4, origin.RequestCount);
    }

    [Fact]
    public async Task Route_HasCodingsOfItsOwn()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Text));
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:Compress=gzip", "--Cache:Routes:0:Prefix=fine/", "--Cache:Routes:0:Compress=br", "--Cache:Routes:1:Prefix=raw/", "--Cache:Routes:1:Compress=");

        Assert.Equal("gzip", (await service.FetchAsync("/object/a", Both)).Head["Content-Encoding"]);
        Assert.Equal("br", (await service.FetchAsync("/object/fine/a", Both)).Head["Content-Encoding"]);
        Assert.Null((await service.FetchAsync("/object/raw/a", Both)).Head["Content-Encoding"]);
    }

    [Fact]
    public async Task Variant_OfTheDisk_IsReadAsItIs()
    {
        string directory = Directory.CreateTempSubdirectory("compressed-").FullName;
        string[] options = ["--Cache:Compress=gzip", $"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB"];
        await using ScriptedOrigin origin = new(static exchange => exchange.AnswerAsync(s_page, Tagged));
        string body;
        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            body = (await service.FetchAsync("/object/a", Both)).Body;
        }

        await using (TestService service = await TestService.StartAsync(origin.Url, options))
        {
            (RawResponse head, string bytes) = await service.FetchAsync("/object/a", Both);

            Assert.Equal(("CachingService; hit; ttl=60; detail=disk", "gzip", "W/\"x\""), (head.CacheStatus, head["Content-Encoding"], head["ETag"]));
            Assert.True(body == bytes && Decode(body, "gzip") == s_page);
            Assert.Equal(1, origin.RequestCount);
        }

        Directory.Delete(directory, recursive: true);
    }

    private static string Decode(string body, string coding)
    {
        using Stream decoder = DecoderOf(Encoding.Latin1.GetBytes(body), coding);
        using MemoryStream decoded = new();
        decoder.CopyTo(decoded);
        return Encoding.Latin1.GetString(decoded.ToArray());
    }

    private static Stream DecoderOf(byte[] encoded, string coding) => coding switch
    {
        "br" => new BrotliStream(new MemoryStream(encoded), CompressionMode.Decompress),
        "gzip" => new GZipStream(new MemoryStream(encoded), CompressionMode.Decompress),
        _ => new DecompressionStream(new MemoryStream(encoded), checkEndOfStream: false),
    };

    /// <summary>What can be read of a coding that has not ended.</summary>
    private static string DecodeStart(List<byte> received, string coding)
    {
        using Stream decoder = DecoderOf([.. received], coding);
        byte[] start = new byte[100];
        int count = received.Count == 0 ? 0 : decoder.ReadAtLeast(start, 5, throwOnEndOfStream: false);
        return Encoding.Latin1.GetString(start, 0, count);
    }
}
