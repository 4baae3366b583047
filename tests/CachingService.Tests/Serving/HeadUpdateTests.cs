using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Category HEAD updates: what the answer to a HEAD does to the stored answer to a GET (RFC 9111 4.3.5).</summary>
public sealed class HeadUpdateTests
{
    private const string Changed = "Last-Modified: Mon, 31 Dec 2029 00:00:00 GMT\r\n";

    [Theory]
    [InlineData("", "Content-Length: 5\r\nETag: \"a\"\r\n" + Changed, true)]
    [InlineData("", "ETag: \"a\"\r\n", true)]
    [InlineData("", "Content-Length: 5\r\n", true)]
    [InlineData("", "Content-Length: 6\r\nETag: \"a\"\r\n", false)]
    [InlineData("", "Content-Length: 5\r\nETag: \"b\"\r\n", false)]
    [InlineData("", "ETag: \"a\"\r\nLast-Modified: Mon, 31 Dec 2029 00:00:01 GMT\r\n", false)]
    [InlineData("Cookie: a=b\r\n", "Content-Length: 6\r\n", null)]
    [InlineData("", "", null)]
    public async Task Answer_ToAHead_UpdatesOrRemovesTheStoredObject(string request, string fields, bool? isSame)
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Method: "HEAD" } => exchange.SendAsync($"HTTP/1.1 200 OK\r\nCache-Control: max-age=20\r\nX-New: 1\r\n{fields}\r\n"),
            _ when exchange.Field("If-None-Match") is not null => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"),
            _ => exchange.AnswerAsync("hello", $"Cache-Control: max-age=5\r\nETag: \"a\"\r\n{Changed}"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        await service.FetchAsync("/object/a", request, "HEAD");
        (RawResponse get, string body) = await service.FetchAsync("/object/a");

        Assert.Equal("hello", body);
        Assert.Equal(
            isSame switch
            {
                true => ("CachingService; hit; ttl=20", "1"),
                false => ("CachingService; fwd=uri-miss; fwd-status=200; stored", null),
                null => ("CachingService; fwd=stale; fwd-status=304", (string?)null),
            },
            (get.CacheStatus, get["X-New"]));
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("404 Not Found", "Cache-Control: max-age=20", true)]
    [InlineData("200 OK", "Cache-Control: private", false)]
    public async Task Answer_ThatIsNoneToAGet_OrNotForEverybody_UpdatesNothing(string status, string fields, bool isKept)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Method == "HEAD"
            ? exchange.SendAsync($"HTTP/1.1 {status}\r\nContent-Length: 5\r\n{fields}\r\n\r\n")
            : exchange.AnswerAsync("hello", "Cache-Control: max-age=5\r\nETag: \"a\"\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        await service.FetchAsync("/object/a", method: "HEAD");

        Assert.Equal(isKept ? 1 : 0, service.Host.Store.Count);
    }

    [Fact]
    public async Task Answer_InACodingThatIsForThisClientAlone_SaysNothingOfTheStoredObject()
    {
        await using ScriptedOrigin origin = new(exchange => exchange switch
        {
            { Method: "HEAD" } => exchange.SendAsync(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=20\r\nETag: W/\"a\"\r\nContent-Encoding: zstd\r\nVary: Accept-Encoding\r\n\r\n"),
            _ when exchange.Field("If-None-Match") is not null => exchange.SendAsync("HTTP/1.1 304 Not Modified\r\n\r\n"),
            _ => exchange.AnswerAsync("hello", "Cache-Control: max-age=5\r\nETag: W/\"a\"\r\nVary: Accept-Encoding\r\n"),
        });
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(5));

        await service.FetchAsync("/object/a", "Accept-Encoding: zstd\r\n", "HEAD");
        (RawResponse get, string body) = await service.FetchAsync("/object/a");

        Assert.Equal(("hello", null, "CachingService; fwd=stale; fwd-status=304"), (body, get["Content-Encoding"], get.CacheStatus));
    }
}
