using System.IO.Compression;
using System.Text;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Filling;

/// <summary>Which clients get a compressed response, and with which fields, after the origin or the options have changed.</summary>
public sealed class CompressedFormTests : IDisposable
{
    private const string Dated = "Content-Type: text/html\r\nCache-Control: max-age=60\r\nLast-Modified: Mon, 31 Dec 2029 00:00:00 GMT\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\n";
    private const string Gzip = "Accept-Encoding: gzip\r\n";

    private static readonly string s_page = string.Concat(Enumerable.Range(0, 5_000).Select(static number => $"<p>{number}</p>"));

    private readonly string _settings = Path.GetTempFileName();

    public void Dispose() => File.Delete(_settings);

    [Fact]
    public async Task Variant_IsForNoOtherClient_AfterCompressionWasSwitchedOff()
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.Field("If-Modified-Since") is null
            ? exchange.AnswerAsync(s_page, Dated)
            : exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n"));
        Write("gzip");
        await using TestService service = await TestService.StartAsync(originUrl: "", $"--Settings={_settings}");
        Assert.Equal("gzip", (await service.FetchAsync("/object/a", Gzip)).Head["Content-Encoding"]);
        await service.IsAtRestAsync();
        Write("");
        service.Host.Reload();
        service.Time.Advance(TimeSpan.FromSeconds(61));

        (RawResponse head, string body) = await service.FetchAsync("/object/a", Gzip);
        (RawResponse plain, string page) = await service.FetchAsync("/object/a");

        Assert.Equal(s_page, head["Content-Encoding"] is null ? body : Decode(body));
        Assert.Equal((200, null, true), (plain.Status, plain["Content-Encoding"], page == s_page));

        void Write(string codings) => File.WriteAllText(_settings, $$"""{ "Cache": { "Origins": "{{origin.Url}}", "Compress": "{{codings}}" } }""");
    }

    [Theory]
    [InlineData("Cache-Control: max-age=60, no-transform\r\n")]
    [InlineData("Cache-Control: max-age=60\r\nCDN-Cache-Control: max-age=60, no-transform\r\n")]
    public async Task Variant_IsNotServed_AfterTheOriginForbadeIt(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Number: 1 } => exchange.AnswerAsync(s_page, "Content-Type: text/html\r\nCache-Control: max-age=60\r\nETag: \"x\"\r\n"),
            _ when exchange.Field("If-None-Match") is not null => exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n{fields}\r\n"),
            _ => exchange.AnswerAsync(s_page, $"Content-Type: text/html\r\nETag: \"x\"\r\n{fields}"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip");
        Assert.Equal("gzip", (await service.FetchAsync("/object/a", Gzip)).Head["Content-Encoding"]);
        service.Time.Advance(TimeSpan.FromSeconds(61));

        for (int count = 0; count < 2; count++)
        {
            (RawResponse head, string body) = await service.FetchAsync("/object/a", Gzip);
            Assert.Equal((200, null, "\"x\""), (head.Status, head["Content-Encoding"], head["ETag"]));
            Assert.True(body == s_page, "the body is wrong");
            await service.IsAtRestAsync();
        }

        Assert.Equal(3, origin.RequestCount);
    }

    [Theory]
    [InlineData("Repr-Digest")]
    [InlineData("Digest")]
    public async Task Digest_OfThePlainForm_ComesToNoVariantWithAConfirmation(string name)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Field("If-None-Match") is null
            ? exchange.AnswerAsync(s_page, $"Content-Type: text/html\r\nCache-Control: max-age=60\r\nETag: \"x\"\r\n{name}: sha-256=:AA==:\r\n")
            : exchange.SendAsync($"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"x\"\r\n{name}: sha-256=:AA==:\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip");
        RawResponse first = (await service.FetchAsync("/object/a", Gzip)).Head;
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(61));

        RawResponse confirmed = (await service.FetchAsync("/object/a", Gzip)).Head;
        RawResponse plain = (await service.FetchAsync("/object/a")).Head;

        Assert.Equal(("CachingService; fwd=stale; fwd-status=304", "gzip"), (confirmed.CacheStatus, confirmed["Content-Encoding"]));
        Assert.Equal((null, null, "sha-256=:AA==:"), (first[name], confirmed[name], plain[name]));
    }

    [Fact]
    public async Task Date_PromisesNoBytes_OfWhatIsCompressedAnewEachTime()
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(async exchange =>
        {
            int half = s_page.Length / 2;
            await exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Dated}Content-Length: {s_page.Length}\r\n\r\n{s_page[..half]}");
            if (exchange.Number == 2)
            {
                await go.Task.WaitAsync(Patience.Limit);
            }

            await exchange.SendAsync(s_page[half..]);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, "--Cache:Compress=gzip", "--Cache:PurgeFrom=127.0.0.1");
        await service.FetchAsync("/object/a", Gzip);
        await service.FetchAsync("/object/a", method: "PURGE");
        await using RawClient client = await service.GetAsync("/object/a", Gzip);
        await client.ReadHeadAsync();
        string body = await client.ReadChunkAsync();
        go.SetResult();
        while (await client.ReadChunkAsync() is { Length: > 0 } chunk)
        {
            body += chunk;
        }

        (RawResponse head, string all) = await service.FetchAsync("/object/a", $"{Gzip}Range: bytes=100-\r\nIf-Range: Mon, 31 Dec 2029 00:00:00 GMT\r\n");
        RawResponse part = (await service.FetchAsync("/object/a", $"{Gzip}Range: bytes=100-\r\n")).Head;

        Assert.Equal(s_page, Decode(body));
        Assert.Equal((200, true), (head.Status, all == body));
        Assert.Equal((206, 2), (part.Status, origin.RequestCount));
        RawResponse plain = (await service.FetchAsync("/object/a", "Range: bytes=100-\r\nIf-Range: Mon, 31 Dec 2029 00:00:00 GMT\r\n")).Head;
        Assert.Equal((206, null), (plain.Status, plain["Content-Encoding"]));
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    [InlineData("zstd")]
    public async Task EmptyBody_IsInItsCoding(string coding)
    {
        await using ScriptedOrigin origin = new(static exchange => exchange.SendAsync($"HTTP/1.1 200 OK\r\n{Dated}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:Compress={coding}");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", $"Accept-Encoding: {coding}\r\n");

        Assert.Equal((200, coding, false), (head.Status, head["Content-Encoding"], body.Length == 0));
    }

    private static string Decode(string body)
    {
        using GZipStream decoder = new(new MemoryStream(Encoding.Latin1.GetBytes(body)), CompressionMode.Decompress);
        using MemoryStream decoded = new();
        decoder.CopyTo(decoded);
        return Encoding.Latin1.GetString(decoded.ToArray());
    }
}
