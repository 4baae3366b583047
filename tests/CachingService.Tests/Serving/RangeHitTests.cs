using System.Globalization;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>Ranges of stored objects, whether their bodies lie in frames or not.</summary>
public sealed class RangeHitTests
{
    private const string Body = "0123456789abcdefghij";
    private const string Fields = "Cache-Control: max-age=60\r\nETag: \"a\"\r\nContent-Type: text/x\r\nAccept-Ranges: none\r\n";
    private const string Known = $"HTTP/1.1 200 OK\r\n{Fields}Content-Length: 20\r\n\r\n{Body}";

    /// <summary>Pieces with ends inside and between the ranges that are asked for.</summary>
    private const string Framed =
        $"HTTP/1.1 200 OK\r\n{Fields}Transfer-Encoding: chunked\r\n\r\n3\r\n012\r\n4\r\n3456\r\n1\r\n7\r\nc\r\n89abcdefghij\r\n0\r\n\r\n";

    /// <summary>Transport, and whether the origin tells the length.</summary>
    public static TheoryData<string, bool> EachBody => new()
    {
        { TestService.Transport, true }, { TestService.Transport, false }, { "Sockets", true }, { "Sockets", false },
    };

    [Theory]
    [MemberData(nameof(EachBody))]
    public async Task Hit_OneRange_IsTheSliceAndTheConnectionGoesOn(string transport, bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown ? Known : Framed));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        Assert.Equal("bytes", (await service.FetchAsync("/object/a")).Head["Accept-Ranges"]);
        await service.IsAtRestAsync();
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        foreach ((string range, int first, int last) in
            ((string, int, int)[])[("0-4", 0, 4), ("3-6", 3, 6), ("1-12", 1, 12), ("19-19", 19, 19), ("5-", 5, 19), ("-3", 17, 19), ("0-", 0, 19)])
        {
            await client.SendAsync("/object/a", $"Range: bytes={range}\r\n");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((206, Body[first..(last + 1)], $"bytes {first}-{last}/20"), (head.Status, body, head["Content-Range"]));
            Assert.Equal(($"{last - first + 1}", null), (head["Content-Length"], head["Transfer-Encoding"]));
            Assert.Equal(("bytes", "\"a\"", "text/x", "0"), (head["Accept-Ranges"], head["ETag"], head["Content-Type"], head["Age"]));
            Assert.Equal("CachingService; hit; ttl=60", head.CacheStatus);
        }

        await client.SendAsync("/object/a");
        Assert.Equal(Body, (await client.ReadAsync()).Body);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("Content-Digest", "0-4")]
    [InlineData("Content-MD5", "0-4")]
    [InlineData("Content-Digest", "0-1, 5-6")]
    public async Task Digest_OfTheWholeContent_IsNotSaidOfAPart(string name, string range)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync(Body, $"{Fields}{name}: AA==\r\nRepr-Digest: sha-256=:BB==:\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url);
        RawResponse whole = (await service.FetchAsync("/object/a")).Head;

        RawResponse part = (await service.FetchAsync("/object/a", $"Range: bytes={range}\r\n")).Head;

        Assert.Equal((200, "AA==", "sha-256=:BB==:"), (whole.Status, whole[name], whole["Repr-Digest"]));
        Assert.Equal((206, null, "sha-256=:BB==:"), (part.Status, part[name], part["Repr-Digest"]));
    }

    [Theory]
    [MemberData(nameof(EachBody))]
    public async Task Hit_SeveralRanges_AreMultipartInTheOrderAsked(string transport, bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown ? Known : Framed));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        await using RawClient client = await service.GetAsync("/object/a", "Range: bytes=12-15, 0-1, 2-2, -1\r\n");

        (RawResponse head, string body) = await client.ReadAsync();

        Assert.Equal((206, null), (head.Status, head["Content-Range"]));
        string boundary = BoundaryOf(head);
        string expected = string.Concat(
            Part(boundary, "12-15/20", "cdef"), "\r\n", Part(boundary, "0-2/20", "012"), "\r\n", Part(boundary, "19-19/20", "j"),
            $"\r\n--{boundary}--\r\n");
        Assert.Equal(expected, body);
        Assert.Equal(expected.Length, int.Parse(head["Content-Length"]!, CultureInfo.InvariantCulture));
        await client.SendAsync("/object/a", "Range: bytes=1-2,3-4\r\n");
        (RawResponse merged, string mergedBody) = await client.ReadAsync();
        Assert.Equal(("1234", "bytes 1-4/20", "text/x"), (mergedBody, merged["Content-Range"], merged["Content-Type"]));
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(EachBody))]
    public async Task Hit_RangeBeyondTheEnd_Is416WithTheLengthAndTheConnectionGoesOn(string transport, bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown ? Known : Framed));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        foreach (string range in (string[])["20-", "20-25", "-0", "30-31,40-"])
        {
            await client.SendAsync("/object/a", $"Range: bytes={range}\r\n");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((416, "bytes */20", "", "no-store"), (head.Status, head["Content-Range"], body, head["Cache-Control"]));
            Assert.Equal("CachingService; hit; ttl=60", head.CacheStatus);
        }

        await client.SendAsync("/object/a", "Range: bytes=2-3\r\n");
        Assert.Equal("23", (await client.ReadAsync()).Body);
        Assert.Equal(1, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData("GET", "Range: bytes=4-2\r\n")]
    [InlineData("GET", "Range: lines=0-1\r\n")]
    [InlineData("GET", "Range: bytes=0-15,0-15\r\n")]
    [InlineData("GET", "Range: bytes=0-1\r\nRange: bytes=3-4\r\n")]
    [InlineData("GET", "Range: bytes=0-1\r\nIf-Range: \"b\"\r\n")]
    [InlineData("GET", "Range: bytes=0-1\r\nIf-Range: W/\"a\"\r\n")]
    [InlineData("GET", "Range: bytes=99-\r\nIf-Range: \"b\"\r\n")]
    [InlineData("HEAD", "Range: bytes=0-1\r\n")]
    [InlineData("HEAD", "Range: bytes=99-\r\n")]
    public async Task Hit_RangeThatDoesNotCount_IsWhole(string method, string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Known));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", fields, method);

        Assert.Equal((200, method == "HEAD" ? "" : Body), (head.Status, body));
        Assert.Equal(("20", null, "bytes"), (head["Content-Length"], head["Content-Range"], head["Accept-Ranges"]));
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [InlineData("If-Range: \"a\"\r\n")]
    [InlineData("If-None-Match: \"b\"\r\nIf-Range: \"a\"\r\n")]
    public async Task Hit_IfRangeThatHolds_IsTheRange(string fields)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(Known));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");

        (RawResponse head, string body) = await service.FetchAsync("/object/a", fields + "Range: bytes=2-3\r\n");

        Assert.Equal((206, "23"), (head.Status, body));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Http10_Range_HasALength(bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown ? Known : Framed));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        for (int count = 0; count < 2; count++)
        {
            await client.SendAsync("/object/a", "Range: bytes=2-11\r\nConnection: keep-alive\r\n", version: "HTTP/1.0");
            (RawResponse head, string body) = await client.ReadAsync();
            Assert.Equal((206, Body[2..12], "10"), (head.Status, body, head["Content-Length"]));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Http2_RangesAndNone_HaveTheirBytes(bool isLengthKnown)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(isLengthKnown ? Known : Framed));
        await using TestService service = await TestService.StartAsync(origin.Url, "--Protocols=Http2");
        using Http2Client client = new(service.Url);
        foreach ((string range, int status, string expected) in
            ((string, int, string)[])[("", 200, Body), ("bytes=2-11", 206, Body[2..12]), ("bytes=20-", 416, ""), ("bytes=5-5", 206, "5")])
        {
            using HttpResponseMessage response = await client.GetAsync("/object/a", fields: range == "" ? [] : [("Range", range)]);
            string body = await ReadAsync(response);
            Assert.Equal((status, expected), ((int)response.StatusCode, body));
            await service.IsAtRestAsync();
        }

        using HttpResponseMessage several = await client.GetAsync("/object/a", fields: [("Range", "bytes=0-0,5-5")]);
        string parts = await ReadAsync(several);
        Assert.Equal((several.Content.Headers.ContentLength, 206), (parts.Length, (int)several.StatusCode));
        Assert.Equal(1, origin.RequestCount);
    }

    [Theory]
    [MemberData(nameof(EachBody))]
    public async Task Hit_RangesOfALargeBody_AreItsSlices(string transport, bool isLengthKnown)
    {
        // Several chunks of memory, several turns of a reader, lent and copied.
        string large = string.Concat(Enumerable.Range(0, 300_000).Select(number => $"{number:x8}"));
        await using ScriptedOrigin origin = new(exchange => isLengthKnown
            ? exchange.AnswerAsync(large)
            : exchange.SendAsync($"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n"
                + $"{large.Length:x}\r\n{large}\r\n0\r\n\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Transport={transport}");
        await service.FetchAsync("/object/a");
        await service.IsAtRestAsync();
        await using RawClient client = await RawClient.ConnectAsync(service.Url);
        foreach ((int first, int last) in ((int, int)[])[(0, 2_399_999), (65_535, 65_536), (1_000_001, 2_200_000), (2_399_999, 2_399_999)])
        {
            await client.SendAsync("/object/a", $"Range: bytes={first}-{last}\r\n");
            Assert.True(large[first..(last + 1)] == (await client.ReadAsync()).Body, $"{first}-{last}");
        }

        await client.SendAsync("/object/a", "Range: bytes=2000000-2100000,100000-900000\r\n");
        string body = (await client.ReadAsync()).Body;
        Assert.Contains(large[2_000_000..2_100_001], body, StringComparison.Ordinal);
        Assert.Contains(large[100_000..900_001], body, StringComparison.Ordinal);
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Pass_OfARange_GoesToTheOrigin()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.SendAsync(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/20\r\nContent-Length: 2\r\n\r\n01"));
        await using TestService service = await TestService.StartAsync(origin.Url);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Cookie: a=b\r\nRange: bytes=0-1\r\nIf-Range: \"a\"\r\n");

        Assert.Equal((206, "01", "bytes 0-1/20"), (head.Status, body, head["Content-Range"]));
        Assert.Equal(("bytes=0-1", "\"a\""), (origin.Exchanges[0].Field("Range"), origin.Exchanges[0].Field("If-Range")));
        Assert.Equal("CachingService; fwd=bypass; fwd-status=206; detail=cookie", head.CacheStatus);
    }

    private static Task<string> ReadAsync(HttpResponseMessage response) =>
        response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken)
            .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);

    internal static string BoundaryOf(RawResponse head)
    {
        const string Type = "multipart/byteranges; boundary=";
        Assert.StartsWith(Type, head["Content-Type"], StringComparison.Ordinal);
        return head["Content-Type"]![Type.Length..];
    }

    internal static string Part(string boundary, string range, string bytes) =>
        $"--{boundary}\r\nContent-Type: text/x\r\nContent-Range: bytes {range}\r\n\r\n{bytes}";
}
