using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Bodies in slices whose origin fails or has another version, and what becomes of slices that were stored.</summary>
public sealed class SliceChangeTests
{
    private const int Slice = 64 * 1024;
    private const string On = "--Cache:SliceBytes=64KiB";
    private const string Fields = VersionedFile.Fields;

    /// <summary>Five slices, the last of which is short.</summary>
    private static readonly string s_body = VersionedFile.FirstBody;

    private readonly VersionedFile _file = new();

    [Fact]
    public async Task Change_IsAnErrorBeforeTheHead_AndTheNextRequestGetsTheNewBody()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");
        _file.Replace('b');

        RawResponse refused = (await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n")).Head;
        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n");

        Assert.Equal((502, "CachingService; detail=slice-changed"), (refused.Status, refused.CacheStatus));
        Assert.Equal((206, "\"b\"", _file.Body[200_000..200_010]), (head.Status, head["ETag"], body));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Change_InTheMiddle_CutsTheClient()
    {
        await using ScriptedOrigin origin = new(exchange =>
        {
            if (exchange.Number == 3)
            {
                _file.Replace('b');
            }

            return _file.AnswerAsync(exchange);
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await using RawClient client = await service.GetAsync("/object/a");

        string received = await client.ReadToCloseAsync();

        Assert.True(received.Length < s_body.Length && s_body.StartsWith(received[(received.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..], StringComparison.Ordinal));
        Assert.True((await service.FetchAsync("/object/a")).Body == _file.Body);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Slice_ThatBreaks_CutsTheClient_AndTheOthersStay()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number != 3)
            {
                await _file.AnswerAsync(exchange);
                return;
            }

            await exchange.SendAsync($"HTTP/1.1 206 X\r\n{Fields}ETag: \"a\"\r\nContent-Range: bytes 131072-196607/300000\r\nContent-Length: {Slice}\r\n\r\nstart");
            exchange.Reset();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await using RawClient client = await service.GetAsync("/object/a");
        Assert.True((await client.ReadToCloseAsync()).Length < s_body.Length);

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body);

        Assert.Equal(3 + 3, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Slice_ThatBreaks_IsResumed(int broken)
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number != broken)
            {
                await _file.AnswerAsync(exchange);
                return;
            }

            int first = (broken - 1) * Slice;
            await exchange.SendAsync(
                $"HTTP/1.1 206 X\r\n{Fields}ETag: \"a\"\r\nContent-Range: bytes {first}-{first + Slice - 1}/300000\r\nContent-Length: {Slice}\r\n\r\n{s_body[first..(first + 9)]}");
            exchange.Reset();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:FetchResumes=1");

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body);

        OriginExchange rest = origin.Exchanges[broken];
        Assert.Equal(($"bytes={((broken - 1) * Slice) + 9}-{(broken * Slice) - 1}", "\"a\""), (rest.Field("Range"), rest.Field("If-Range")));
        Assert.Equal(6, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("HTTP/1.1 503 X\r\n", "origin-503")]
    [InlineData("HTTP/1.1 404 X\r\n", "slice-changed")]
    public async Task Slice_ThatIsAnswered_ByAnError_Is502(string line, string detail)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1 ? _file.AnswerAsync(exchange) : exchange.SendAsync($"{line}Content-Length: 0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:FillAttempts=1");
        await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");

        RawResponse head = (await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n")).Head;

        Assert.Equal((502, $"CachingService; detail={detail}"), (head.Status, head.CacheStatus));
    }

    /// <summary>An answer that is about the request, or a failure, says nothing of the version: the slices that are there stay.</summary>
    [Theory]
    [InlineData(401)]
    [InlineData(403)]
    [InlineData(429)]
    [InlineData(501)]
    public async Task Slice_ThatIsRefused_LeavesTheFirst(int status)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 2
            ? exchange.SendAsync($"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")
            : _file.AnswerAsync(exchange));
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:FillAttempts=1");
        await service.StoreAsync("/object/a", "Range: bytes=0-9\r\n");

        RawResponse refused = (await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n")).Head;
        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Range: bytes=0-9\r\n");

        Assert.Equal((502, $"CachingService; detail=origin-{status}"), (refused.Status, refused.CacheStatus));
        Assert.Equal((206, "CachingService; hit; ttl=60", s_body[..10]), (head.Status, head.CacheStatus, body));
        Assert.Equal(2, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Purge_OfTheKey_IsOneOfAllSlices()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On, "--Cache:PurgeFrom=127.0.0.1");
        await service.FetchAsync("/object/a");
        Assert.Equal(200, (await service.FetchAsync("/object/a", method: "PURGE")).Head.Status);
        _file.Body = VersionedFile.BodyOf('b');

        Assert.True((await service.FetchAsync("/object/a")).Body == _file.Body);
        Assert.Equal(10, origin.RequestCount);
    }

    [Fact]
    public async Task Confirmation_OfTheFirstSlice_IsOneOfAll()
    {
        await using ScriptedOrigin origin = new(_file.AnswerAsync);
        await using TestService service = await TestService.StartAsync(origin.Url, On);
        await service.FetchAsync("/object/a");
        service.Time.Advance(TimeSpan.FromSeconds(61));

        (RawResponse head, string body) = await service.FetchAsync("/object/a");
        RawResponse hit = (await service.FetchAsync("/object/a", "Range: bytes=200000-200009\r\n")).Head;

        Assert.Equal(("CachingService; fwd=stale; fwd-status=304", true), (head.CacheStatus, body == s_body));
        Assert.Equal("CachingService; hit; ttl=60", hit.CacheStatus);
        Assert.Equal(6, origin.RequestCount);
    }
}
