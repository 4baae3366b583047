using System.Text;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Where a body ends, by chunks, by a length and by the end of the connection, however its bytes come (RFC 9112 6.3, 7.1).</summary>
public sealed class BodyDecoderTests
{
    private const int MaxExtraBytes = 64 * 1024;
    private static readonly BodyFraming s_chunked = new(IsChunked: true, Length: null);

    public static TheoryData<string, string> ValidChunks => new()
    {
        { "0\r\n\r\n", "" },
        { "000000000000000\r\n\r\n", "" },
        { "3\r\nabc\r\n0\r\n\r\n", "abc" },
        { "000000000000003\r\nabc\r\n0\r\n\r\n", "abc" },
        { "3\r\nabc\r\n00\r\n\r\n", "abc" },
        { "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a" },
        { "2\r\n\r\n\r\n0\r\n\r\n", "\r\n" },
        { "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n" },
        { "3;\r\nabc\r\n0;\r\n\r\n", "abc" },
        { "3;a\r\nabc\r\n0;b=c\r\n\r\n", "abc" },
        { "3; a = b \t\r\nabc\r\n0\r\n\r\n", "abc" },
        { "3;a=\"b;c\\\"\"\r\nabc\r\n0\r\n\r\n", "abc" },
        { "3;a=\"\xe9\xff\r\nabc\r\n0\r\n\r\n", "abc" },
        { "3\r\nabc\r\n0\r\nA: b\r\n\r\n", "abc" },
        { "3\r\nabc\r\n0\r\nA:\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n", "abc" },
    };

    public static TheoryData<string, string> InvalidChunks => new()
    {
        { "", "BadMessage" },
        { "\r\n", "BadMessage" },
        { "\r\n3\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { " 3\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3 \r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3 ;a\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3\t\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "+3\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "-3\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "0x3\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3h\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "g\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { ";a\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3,\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3_0\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "0000000000000003\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "0000000000000000\r\n\r\n", "BadMessage" },
        { "FFFFFFFFFFFFFFFF\r\nabc", "BadMessage" },
        { "10000000000000003\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "fffffffffffffff\r\nabc", "BadMessage" },
        { "3\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3\rabc\r\n0\r\n\r\n", "BadMessage" },
        { "3\r\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a\n\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a\rb\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a\0\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3;a\x7f\r\nabc\r\n0\r\n\r\n", "BadMessage" },
        { "3\r\nabc0\r\n\r\n", "BadMessage" },
        { "3\r\nabc\n0\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r0\r\n\r\n", "BadMessage" },
        { "3\r\nabcd\r\n0\r\n\r\n", "BadMessage" },
        { "3\r\nab\r\n0\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\n\r", "BadMessage" },
        { "3\r\nabc\r\n0\r\n\n", "BadMessage" },
        { "3\r\nabc\r\n0\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\n\rX", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\n: b\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA : b\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA: b\r\n c\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA: b\rc\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA: b\nC: d\r\n\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nA: \0\r\n\r\n", "BadField" },
        { "3\r\nabc\r\n0\r\nA: b\r\n", "BadMessage" },
        { "3\r\nabc\r\n0\r\nHTTP/1.1 200 OK\r\n\r\n", "BadMessage" },
    };

    [Theory]
    [MemberData(nameof(ValidChunks))]
    public void Chunks_Valid_AreTheBodyHoweverTheyCome(string message, string body)
    {
        Assert.Equal((body, message.Length, null), ChunkedReference.Read(message));
        foreach (string behind in (string[])["", "\r\n", "HTTP/1.1 200 OK\r\n\r\n"])
        {
            AssertInEverySplit(message + behind, $"{body} to {message.Length}");
        }
    }

    [Theory]
    [MemberData(nameof(InvalidChunks))]
    public void Chunks_Invalid_AreAFaultHoweverTheyCome(string message, string fault)
    {
        Assert.Equal(fault, ChunkedReference.Read(message).Fault.ToString());
        AssertInEverySplit(message, fault);
    }

    [Theory]
    [InlineData("3;{0}\r\nabc\r\n0\r\n\r\n", 0)]
    [InlineData("3\r\nabc\r\n0;{0}\r\n\r\n", 0)]
    [InlineData("3\r\nabc\r\n0\r\nA:{0}\r\n\r\n", 2)]
    [InlineData("3\r\nabc\r\n0;bc\r\nA:{0}\r\n\r\n", 4)]
    public void Extras_AtTheirLimit_AreReadAndNoneOverIt(string format, int others)
    {
        string longest = string.Format(null, format, new string('a', MaxExtraBytes - others));
        string longer = string.Format(null, format, new string('a', MaxExtraBytes - others + 1));

        foreach (int size in (int[])[1, 4096, int.MaxValue])
        {
            Assert.Equal($"abc to {longest.Length}", Decode(longest, s_chunked, () => size, () => 16));
            Assert.Equal("BadMessage", Decode(longer, s_chunked, () => size, () => 16));
        }
    }

    [Theory]
    [InlineData(0, "", "", 0)]
    [InlineData(0, "x", "", 0)]
    [InlineData(3, "abc", "abc", 3)]
    [InlineData(3, "abcHTTP/1.1 200", "abc", 3)]
    public void Length_OfABody_EndsIt(long length, string received, string body, int end)
    {
        for (int size = 1; size <= received.Length + 1; size++)
        {
            for (int room = 1; room <= 4; room++)
            {
                Assert.Equal($"{body} to {end}", Decode(received, new(IsChunked: false, length), () => size, () => room));
            }
        }
    }

    [Theory]
    [InlineData(1, "")]
    [InlineData(3, "ab")]
    [InlineData(long.MaxValue - 1, "ab")]
    [InlineData(long.MaxValue, "ab")]
    public void Length_ThatDoesNotCome_IsAFault(long length, string received) =>
        Assert.Equal("BadMessage", Decode(received, new(IsChunked: false, length), () => 1, () => 1));

    [Theory]
    [InlineData("")]
    [InlineData("abc\r\n0\r\n\r\nHTTP/1.1 200 OK")]
    public void End_OfTheConnection_EndsABodyWithoutFraming(string received)
    {
        Assert.Equal($"{received} to {received.Length}", Decode(received, default, () => 2, () => 3));
    }

    [Fact]
    public void Expected_OfEachFraming_IsWhatSurelyFollows()
    {
        BodyDecoder decoder = new();
        decoder.Begin(default);
        Assert.Equal((0, false), (decoder.Expected, decoder.HasEnded));

        decoder.Begin(new(IsChunked: false, Length: 5));
        Assert.Equal((5, false), (decoder.Expected, decoder.HasEnded));
        decoder.Decode("ab"u8, new byte[8], out _);
        Assert.Equal((3, false), (decoder.Expected, decoder.HasEnded));
        decoder.Decode("cde"u8, new byte[8], out _);
        Assert.Equal((0, true), (decoder.Expected, decoder.HasEnded));

        decoder.Begin(s_chunked);
        Assert.Equal((0, false), (decoder.Expected, decoder.HasEnded));
        decoder.Decode("10\r\nab"u8, new byte[8], out _);
        Assert.Equal((14, false), (decoder.Expected, decoder.HasEnded));
        decoder.Decode("0123456789abcd"u8, new byte[16], out _);
        Assert.Equal((0, false), (decoder.Expected, decoder.HasEnded));
        decoder.Decode("\r\n0\r\n\r\n"u8, default, out _);
        Assert.Equal((0, true), (decoder.Expected, decoder.HasEnded));

        decoder.BeginNone();
        Assert.True(decoder.HasEnded);
    }

    /// <summary>After chunks, a length and the end of a connection the next body knows nothing of the one before.</summary>
    [Fact]
    public void Decoder_UsedAgain_BeginsAnew()
    {
        BodyDecoder decoder = new();
        foreach (string trailer in (string[])["A: b\r\n", "", "C: d\r\nE: f\r\n"])
        {
            Assert.Equal("abc", Once(s_chunked, $"3;x\r\nabc\r\n0\r\n{trailer}\r\n"));
            Assert.Equal("abcd", Once(new(IsChunked: false, Length: 4), "abcd"));
        }

        string Once(BodyFraming framing, string message)
        {
            byte[] room = new byte[16];
            decoder.Begin(framing);
            Assert.Equal(message.Length, decoder.Decode(Latin1Text.Bytes(message), room, out int count));
            Assert.True(decoder.HasEnded);
            return Latin1Text.Of(room.AsSpan(0, count));
        }
    }

    [Fact]
    public void Chunks_InTheirOwnBytes_AreDecodedInPlace()
    {
        byte[] message = Latin1Text.Bytes("3;abc\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
        BodyDecoder decoder = new();
        decoder.Begin(s_chunked);

        Assert.Equal(message.Length, decoder.Decode(message, message, out int count));
        Assert.Equal("abc0123456789abcdef", Latin1Text.Of(message.AsSpan(0, count)));
    }

    [Fact]
    public void Chunks_Mutated_AreReadAsTheReferenceDoesHoweverTheyCome()
    {
        const string Bytes = "0123456789abcdefABCDEF;:\r\n\r\n\r\n \t\"=\0\x7f\xe9gX";
        Random random = Latin1Text.Seeded();
        for (int number = 0; number < 20_000; number++)
        {
            StringBuilder message = new(RandomChunks(random));
            for (int mutations = random.Next(4); mutations > 0 && message.Length > 0; mutations--)
            {
                int at = random.Next(message.Length);
                switch (random.Next(4))
                {
                    case 0:
                        message[at] = Bytes[random.Next(Bytes.Length)];
                        break;
                    case 1:
                        message.Insert(at, Bytes[random.Next(Bytes.Length)]);
                        break;
                    case 2:
                        message.Remove(at, 1);
                        break;
                    default:
                        message.Length = at;
                        break;
                }
            }

            string text = message.ToString();
            (string body, int end, Http1Fault? fault) = ChunkedReference.Read(text);
            string expected = fault?.ToString() ?? $"{body} to {end}";

            Assert.Equal(expected, Decode(text, s_chunked, () => text.Length, () => text.Length + 1));
            Assert.Equal(expected, Decode(text, s_chunked, () => random.Next(1, 9), () => random.Next(1, 9)));
        }
    }

    private static string RandomChunks(Random random)
    {
        StringBuilder message = new();
        for (int chunks = random.Next(4); chunks > 0; chunks--)
        {
            int size = random.Next(1, 20);
            message.Append(size.ToString(random.Next(2) == 0 ? "x" : "X3", null)).Append(Extension()).Append("\r\n");
            message.Append(new string((char)random.Next(0x100), size)).Append("\r\n");
        }

        message.Append('0').Append(Extension()).Append("\r\n");
        for (int trailers = random.Next(3) - 1; trailers > 0; trailers--)
        {
            message.Append("A: b\r\n");
        }

        return message.Append("\r\n").Append(random.Next(3) == 0 ? "HTTP/1.1 200 OK\r\n\r\n" : "").ToString();

        string Extension() => random.Next(4) == 0 ? ";a=\"b\"" : "";
    }

    private static void AssertInEverySplit(string message, string expected)
    {
        foreach (int room in (int[])[1, 2, 3, 7, 64])
        {
            for (int first = 0; first <= message.Length; first++)
            {
                for (int second = 1; second <= message.Length - first + 1; second++)
                {
                    int call = 0;
                    int Size() => call++ switch { 0 => Math.Max(1, first), 1 => second, _ => int.MaxValue };
                    Assert.Equal(expected, Decode(message, s_chunked, Size, () => room));
                }
            }
        }
    }

    /// <summary>The body and where it ends, or the fault.</summary>
    /// <param name="message">What comes before the connection ends.</param>
    /// <param name="framing">Of it.</param>
    /// <param name="size">Of the next piece.</param>
    /// <param name="room">Of the next buffer.</param>
    private static string Decode(string message, BodyFraming framing, Func<int> size, Func<int> room) => Latin1Text.OutcomeOf(() =>
    {
        BodyDecoder decoder = new();
        decoder.Begin(framing);
        StringBuilder body = new();
        byte[] bytes = Latin1Text.Bytes(message);
        int used = 0;
        while (used < bytes.Length && !decoder.HasEnded)
        {
            int end = (int)Math.Min(bytes.Length, used + (long)size());
            while (used < end && !decoder.HasEnded)
            {
                byte[] buffer = new byte[room()];
                int taken = decoder.Decode(bytes.AsSpan(used, end - used), buffer, out int count);
                Assert.True(count == buffer.Length || taken == end - used || decoder.HasEnded, "it stopped with room for more");
                body.Append(Latin1Text.Of(buffer.AsSpan(0, count)));
                used += taken;
            }
        }

        if (!decoder.HasEnded)
        {
            decoder.EndOfConnection();
        }

        return $"{body} to {used}";
    });
}
