using System.Buffers;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Heads of requests, byte by byte, and what must never be written because it would be read as two (RFC 9112 3, 5, 11.1).</summary>
public sealed class HeadWriterTests
{
    [Fact]
    public void Request_WithoutABody_IsTheseBytes() => Assert.Equal(
        "GET /base/a%20b?c=d HTTP/1.1\r\nHost: example.org:81\r\nAccept: text/html\r\nX-A: 1, 2\r\n\r\n",
        Write(Request("GET", new("Accept", "text/html"), new("X-A", new StringValues(["1", "2"]))) with { Target = "a%20b?c=d" }));

    [Fact]
    public void Request_WithALength_SaysItOnce() => Assert.Equal(
        "POST /base/ HTTP/1.1\r\nHost: example.org:81\r\nContent-Type: text/plain\r\nContent-Length: 9223372036854775807\r\n\r\n",
        Write(Request("POST", new HeaderField("Content-Type", "text/plain")) with { Body = new FakeBody(long.MaxValue) }));

    [Fact]
    public void Request_WithoutAKnownLength_SendsChunks() => Assert.Equal(
        "PUT /base/ HTTP/1.1\r\nHost: example.org:81\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        Write(Request("PUT", new HeaderField("Content-Encoding", "gzip")) with { Body = new FakeBody(null) }));

    [Fact]
    public void Request_WithAnEmptyBody_HasALengthOfZero() =>
        Assert.Equal("GET /base/ HTTP/1.1\r\nHost: example.org:81\r\nContent-Length: 0\r\n\r\n", Write(Request("GET") with { Body = new FakeBody(0) }));

    [Fact]
    public void Request_ThatTellsThatThereIsNoBody_DescribesIt() => Assert.Equal(
        "DELETE /base/ HTTP/1.1\r\nHost: example.org:81\r\nContent-Type: a\r\nContent-Length: 0\r\n\r\n",
        Write(Request("DELETE", new HeaderField("Content-Type", "a")) with { TellsThatThereIsNoBody = true }));

    [Theory]
    [InlineData("Content-Type")]
    [InlineData("content-language")]
    [InlineData("Content-Encoding")]
    [InlineData("Expires")]
    public void Field_OnABody_IsNotSentWithoutOne(string name)
    {
        Http1Request request = Request("GET", new HeaderField(name, "a"));

        Assert.DoesNotContain(name, Write(request), StringComparison.Ordinal);
        Assert.Contains($"{name}: a\r\n", Write(request with { Body = new FakeBody(1) }), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Cookie")]
    [InlineData("cookie")]
    public void Cookies_InPieces_AreOneField(string name) => Assert.Equal(
        $"GET /base/ HTTP/1.1\r\nHost: example.org:81\r\n{name}: a=1; b=2; c=3\r\n\r\n",
        Write(Request("GET", new HeaderField(name, new StringValues(["a=1", "b=2", "c=3"])))));

    [Fact]
    public void Values_ThatAreEmpty_AreSent() => Assert.Equal(
        "GET /base/ HTTP/1.1\r\nHost: example.org:81\r\nA: \r\nB: , c\r\n\r\n",
        Write(Request("GET", new("A", ""), new("B", new StringValues([null, "c"])))));

    [Fact]
    public void Characters_OfLatin1_AreOneByte()
    {
        string all = string.Concat(Enumerable.Range(0x20, 0xe0).Select(code => (char)code)) + "\t";

        Assert.Contains($"\r\nA: {all}\r\n", Write(Request("GET", new HeaderField("A", all))), StringComparison.Ordinal);
    }

    /// <summary>A full-width colon must not become one that a parser sees, nor a small dotless i another name.</summary>
    [Fact]
    public void Characters_BeyondLatin1_AreQuestionMarksAll()
    {
        string beyond = string.Concat(Enumerable.Range(0x100, 0xd800 - 0x100).Select(code => (char)code));

        Assert.Contains($"\r\nA: {new string('?', beyond.Length)}\r\n", Write(Request("GET", new HeaderField("A", beyond))), StringComparison.Ordinal);
    }

    /// <summary>The estimate of the length must hold for all of them together.</summary>
    [Fact]
    public void Request_OfAnySize_FitsItsBuffer()
    {
        for (int count = 0; count < 300; count++)
        {
            HeaderField[] fields =
            [
                .. Enumerable.Range(0, count).Select(number => new HeaderField($"X-{number}", new string('v', number % 7))),
                new("Cookie", new StringValues([.. Enumerable.Repeat("a", count)])),
            ];
            string head = Write(Request("M-" + new string('M', count), fields) with { Body = new FakeBody(long.MaxValue) });

            Assert.EndsWith($"Content-Length: {long.MaxValue}\r\n\r\n", head, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("a\r\nb")]
    [InlineData("a\nb")]
    [InlineData("a\rb")]
    [InlineData("\0")]
    [InlineData("\n")]
    [InlineData("a\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n")]
    public void Break_InAnyPart_IsRefusedAndNothingIsWritten(string bad)
    {
        Http1Request sound = Request("GET");
        Http1Request[] requests =
        [
            sound with { Method = bad }, sound with { PathPrefix = bad }, sound with { Target = bad }, sound with { Host = bad },
            Request("GET", new HeaderField("A", bad)),
            Request("GET", new HeaderField("A", new StringValues(["a", bad]))), Request("GET", new HeaderField("Cookie", new StringValues(["a", bad]))),
        ];

        Assert.All(requests, AssertRefused);
    }

    [Theory]
    [InlineData(" ")]
    [InlineData("a b")]
    [InlineData("a\tb")]
    [InlineData("/ HTTP/1.1")]
    public void Space_InTheRequestLine_IsRefusedAndNothingIsWritten(string bad)
    {
        Http1Request sound = Request("GET");

        Assert.All([sound with { Method = bad }, sound with { PathPrefix = bad }, sound with { Target = bad }, sound with { Host = bad }], AssertRefused);
    }

    /// <summary>HTTP/2 can bring one, and an origin could read another field, of the framing even.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("transfer-encoding ")]
    [InlineData(" transfer-encoding")]
    [InlineData("transfer-encoding:")]
    [InlineData("content-length: 5, a")]
    [InlineData("a\tb")]
    [InlineData("a\r\nb")]
    [InlineData("\u017fet-cookie")]
    [InlineData("\xe9")]
    public void Name_ThatIsNoToken_IsNotSent(string name) => Assert.Equal(
        "GET /base/ HTTP/1.1\r\nHost: example.org:81\r\nA: b\r\n\r\n",
        Write(Request("GET", new HeaderField(name, "chunked"), new HeaderField("A", "b"))));

    private static void AssertRefused(Http1Request request)
    {
        ArrayBufferWriter<byte> output = new();
        Assert.Throws<ArgumentException>(() => HeadWriter.Write(output, request));
        Assert.Equal(0, output.WrittenCount);
    }

    private static Http1Request Request(string method, params HeaderField[] fields) =>
        new(method, "/base/", "", "example.org:81", [.. fields], Body: null, TellsThatThereIsNoBody: false);

    private static string Write(Http1Request request)
    {
        ArrayBufferWriter<byte> output = new();
        HeadWriter.Write(output, request);
        return Latin1Text.Of(output.WrittenSpan);
    }
}
