using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Heads of responses: what is read, and what is refused because it could be read in two ways (RFC 9112 2 to 5).</summary>
public sealed class HeadParserTests
{
    private const string Token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// <summary>Head, and status, minor version and fields.</summary>
    public static TheoryData<string, string> Valid => new()
    {
        { "HTTP/1.1 200 OK\r\n\r\n", "200 1" },
        { "HTTP/1.1 200 \r\n\r\n", "200 1" },
        { "HTTP/1.1 200\r\n\r\n", "200 1" },
        { "HTTP/1.0 404 Not Found\r\n\r\n", "404 0" },
        { "HTTP/1.2 200 OK\r\n\r\n", "200 2" },
        { "HTTP/1.9 200 OK\r\n\r\n", "200 9" },
        { "HTTP/1.1 999 \t odd \xe9\r\n\r\n", "999 1" },
        { "HTTP/1.1 100 Continue\r\n\r\n", "100 1" },
        { "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "200 1 [A=b]" },
        { "HTTP/1.1 200 OK\r\nA:b\r\n\r\n", "200 1 [A=b]" },
        { "HTTP/1.1 200 OK\r\nA:\r\nB: \t \r\n\r\n", "200 1 [A=] [B=]" },
        { "HTTP/1.1 200 OK\r\nA: \t b  c\t d \t \r\n\r\n", "200 1 [A=b  c\t d]" },
        { "HTTP/1.1 200 OK\r\nA: b:c: d\r\n\r\n", "200 1 [A=b:c: d]" },
        { "HTTP/1.1 200 OK\r\nA: \x80\xff\r\n\r\n", "200 1 [A=\x80\xff]" },
        { $"HTTP/1.1 200 OK\r\n{Token}: b\r\n\r\n", $"200 1 [{Token}=b]" },
        { "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\na: 3\r\nA:\r\n\r\n", "200 1 [A=1|3|] [B=2]" },
        { "HTTP/1.1 200 OK\r\ncontent-TYPE: text/plain\r\nSet-Cookie: a\r\nset-cookie: b, c\r\n\r\n",
            "200 1 [Content-Type=text/plain] [Set-Cookie=a|b, c]" },
        { "HTTP/1.1 200 OK\r\nA-Name-That-Is-Longer-Than-Any-That-Is-Known: b\r\n\r\n", "200 1 [A-Name-That-Is-Longer-Than-Any-That-Is-Known=b]" },
    };

    public static TheoryData<string, string> Invalid => new()
    {
        { "\r\nHTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "\nHTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { " HTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "\0HTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/0.9 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/2.0 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/2 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/11 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.10 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/01.1 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.x 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1,1 200 OK\r\n\r\n", "BadMessage" },
        { "http/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "HTTP /1.1 200 OK\r\n\r\n", "BadMessage" },
        { "ICY 200 OK\r\n\r\n", "BadMessage" },
        { "RTSP/1.1 200 OK\r\n\r\n", "BadMessage" },
        { "<html>\r\n\r\n</html>", "BadMessage" },
        { "HTTP/1.1  200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1\t200 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200\tOK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 20 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 20\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 2000 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 2x0 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 20x OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 099 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 000 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 +20 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 -20 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 OK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 O\0K\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 O\x7fK\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\rA: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\nA: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\n\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\n\nbody", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\n\r\nbody", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\n\nC: d\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\r\n\nC: d\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: b\x01\x63\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: \x7f\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: \x0b\r\n\r\n", "BadField" },
        { "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA: b\r\n\tc: d\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA\t: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\n: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\n\xe9: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA\n: b\r\n\r\n", "BadMessage" },
        { "HTTP/1.1 200 OK\r\nA\r: b\r\n\r\n", "BadMessage" },
    };

    [Theory]
    [MemberData(nameof(Valid))]
    public void Head_Valid_IsReadAsItStands(string head, string expected) => Assert.Equal(expected, Read(head));

    [Theory]
    [MemberData(nameof(Invalid))]
    public void Head_Invalid_IsAFault(string head, string fault) => Assert.Equal(fault, Read(head));

    [Theory]
    [MemberData(nameof(Valid))]
    [MemberData(nameof(Invalid))]
    public void Head_ComingByteByByte_IsTheSame(string head, string expected) => Assert.Equal(expected, ReadByteByByte(head));

    /// <summary>Else a connection that speaks something else would be waited for to the end of its time.</summary>
    [Theory]
    [InlineData("X")]
    [InlineData("HTTP/2")]
    [InlineData("\r")]
    [InlineData("HTTP/1.1 200 OK\n")]
    [InlineData("HTTP/1.1 200 OK\r\nA: b\n")]
    [InlineData("HTTP/1.1 200 OK\r\n\n")]
    public void Head_ThatCanBecomeNone_IsRefusedBeforeItsEnd(string beginning) => Assert.Equal("BadMessage", Read(beginning));

    [Theory]
    [InlineData("")]
    [InlineData("H")]
    [InlineData("HTTP/1.")]
    [InlineData("HTTP/1.1 200 OK")]
    [InlineData("HTTP/1.1 200 OK\r")]
    [InlineData("HTTP/1.1 200 OK\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nA: b\r\n\r")]
    public void Head_ThatHasNotEnded_IsWaitedFor(string beginning) => Assert.Equal(0, HeadParser.LengthOf(Latin1Text.Bytes(beginning)));

    [Theory]
    [InlineData("")]
    [InlineData("body")]
    [InlineData("\r\n\r\n")]
    [InlineData("\n\0")]
    public void Length_OfAHead_EndsBeforeTheBody(string body)
    {
        const string Head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";

        Assert.Equal(Head.Length, HeadParser.LengthOf(Latin1Text.Bytes(Head + body)));
    }

    [Fact]
    public void Head_AtTheLimit_IsReadAndNoneOverIt()
    {
        string longest = HeadOf(HeadParser.MaxBytes);

        Assert.Equal(HeadParser.MaxBytes, HeadParser.LengthOf(Latin1Text.Bytes(longest)));
        Assert.Equal(HeadParser.MaxBytes, HeadParser.LengthOf(Latin1Text.Bytes(longest + "body")));
        Assert.Equal("BadMessage", Read(HeadOf(HeadParser.MaxBytes + 1)));

        // Without an end it is waited for as long as it could still be short enough.
        Assert.Equal(0, HeadParser.LengthOf(Latin1Text.Bytes(longest[..^1])));
        Assert.Equal("BadMessage", Read(longest[..^4] + "aaaa"));
    }

    [Fact]
    public void Bytes_OfANameAndAValue_AreThoseOfTheSyntax()
    {
        for (int code = 0; code < 0x100; code++)
        {
            char character = (char)code;
            string name = Read($"HTTP/1.1 200 OK\r\nA{character}B: c\r\n\r\n");
            string value = Read($"HTTP/1.1 200 OK\r\nA: b{character}c\r\n\r\n");
            string reason = Read($"HTTP/1.1 200 O{character}K\r\n\r\n");

            Assert.Equal(Token.Contains(character) ? $"200 1 [A{character}B=c]" : character == ':' ? "200 1 [A=B: c]" : "BadMessage", name);
            bool isText = character == '\t' || (code >= 0x20 && code != 0x7f);
            Assert.Equal(isText ? $"200 1 [A=b{character}c]" : character == '\n' ? "BadMessage" : "BadField", value);
            Assert.Equal(isText ? "200 1" : "BadMessage", reason);
        }
    }

    [Fact]
    public void Head_LikeTheOneBefore_HasItsTexts()
    {
        const string First = "HTTP/1.1 200 OK\r\nServer: origin\r\nX-Own: a\r\nDate: then\r\nA: \xe9\r\nB: 1\r\nB: 2\r\n\r\n";
        const string Second = "HTTP/1.1 200 OK\r\nServer: origin\r\nX-Own: a\r\nDate: now\r\nA: \xe9\r\nB: 1\r\nC: 2\r\n\r\n";
        List<HeaderField> before = [];
        List<HeaderField> fields = [];
        HeadParser.Parse(Latin1Text.Bytes(First), before, []);

        ReceivedHead head = HeadParser.Parse(Latin1Text.Bytes(Second), fields, before);

        Assert.Equal("200 1 [Server=origin] [X-Own=a] [Date=now] [A=\xe9] [B=1] [C=2]", Latin1Text.Of(head));
        Assert.Same((string?)before[0].Values, (string?)fields[0].Values);
        Assert.Same(before[1].Name, fields[1].Name);
        Assert.Same((string?)before[1].Values, (string?)fields[1].Values);
    }

    private static string HeadOf(int length)
    {
        const string Start = "HTTP/1.1 200 OK\r\nA: ";
        return Start + new string('a', length - Start.Length - 4) + "\r\n\r\n";
    }

    private static string Read(string received) => Latin1Text.OutcomeOf(() =>
    {
        byte[] bytes = Latin1Text.Bytes(received);
        int length = HeadParser.LengthOf(bytes);
        return length == 0 ? "no end" : Latin1Text.Of(HeadParser.Parse(bytes.AsSpan(0, length), [], []));
    });

    private static string ReadByteByByte(string received) => Latin1Text.OutcomeOf(() =>
    {
        byte[] bytes = Latin1Text.Bytes(received);
        int length = 0;
        for (int count = 0; length == 0 && count <= bytes.Length; count++)
        {
            length = HeadParser.LengthOf(bytes.AsSpan(0, count));
        }

        return length == 0 ? "no end" : Latin1Text.Of(HeadParser.Parse(bytes.AsSpan(0, length), [], []));
    });
}
