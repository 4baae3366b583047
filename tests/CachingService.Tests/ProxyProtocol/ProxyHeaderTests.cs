using System.Buffers;
using System.Text;
using CachingService.ProxyProtocol;
using CachingService.Tests.Infrastructure;
using FsCheck.Fluent;

namespace CachingService.Tests.ProxyProtocol;

/// <summary>What a PROXY header is, byte by byte; see "The PROXY protocol", versions 1 and 2.</summary>
public sealed class ProxyHeaderTests
{
    private const string LongestAddress = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

    public static TheoryData<string, string?, string?> Complete => new()
    {
        { "PROXY TCP4 192.0.2.1 198.51.100.7 51234 443\r\n", "192.0.2.1:51234", "198.51.100.7:443" },
        { "PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", "0.0.0.0:0", "255.255.255.255:65535" },
        { "PROXY TCP6 2001:db8::1 ::1 51234 443\r\n", "[2001:db8::1]:51234", "[::1]:443" },
        { $"PROXY TCP6 {LongestAddress} {LongestAddress} 65535 65535\r\n", $"[{LongestAddress}]:65535", $"[{LongestAddress}]:65535" },
        { "PROXY UNKNOWN\r\n", null, null },
        { $"PROXY UNKNOWN {LongestAddress} {LongestAddress} 65535 65535\r\n", null, null },
        { ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4), "192.0.2.1:51234", "198.51.100.7:443" },
        { ProxyBytes.Of(0x21, 0x21, ProxyBytes.IPv6), "[2001:db8::1]:51234", "[::1]:443" },
        { ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4 + "\x04\0\x03abc"), "192.0.2.1:51234", "198.51.100.7:443" },
        { ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4 + new string('\0', ushort.MaxValue - 12)), "192.0.2.1:51234", "198.51.100.7:443" },
        { ProxyBytes.Of(0x20, 0x00, ""), null, null },
        { ProxyBytes.Of(0x20, 0x11, ProxyBytes.IPv4), null, null },
        { ProxyBytes.Of(0x20, 0xFF, "abc"), null, null },
        { ProxyBytes.Of(0x21, 0x00, "abc"), null, null },
        { ProxyBytes.Of(0x21, 0x12, ProxyBytes.IPv4), null, null },
        { ProxyBytes.Of(0x21, 0x31, new string('a', 216)), null, null },
    };

    public static TheoryData<string> Malformed =>
    [
        "GET / HTTP/1.1\r\n",
        "\x16\x03\x01",
        "PROXX",
        "proxy TCP4 192.0.2.1 198.51.100.7 51234 443\r\n",
        "PROXY\r\n",
        "PROXY \r\n",
        "PROXY  TCP4 192.0.2.1 198.51.100.7 51234 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 51234\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 51234 443 \r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 51234 65536\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 051234 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 -1 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 51234 +443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.7 51234 443\n",
        "PROXY TCP4 192.0.2.01 198.51.100.7 51234 443\r\n",
        "PROXY TCP4 192.2 198.51.100.7 51234 443\r\n",
        "PROXY TCP4 2001:db8::1 ::1 51234 443\r\n",
        "PROXY TCP6 192.0.2.1 198.51.100.7 51234 443\r\n",
        "PROXY TCP6 [2001:db8::1] ::1 51234 443\r\n",
        "PROXY TCP6 fe80::1%2 ::1 51234 443\r\n",
        "PROXY UDP4 192.0.2.1 198.51.100.7 51234 443\r\n",
        "PROXY UNKNOWN " + new string('x', 92) + "\r\n",
        ProxyBytes.Signature[..^1] + "x",
        ProxyBytes.Of(0x11, 0x11, ProxyBytes.IPv4),
        ProxyBytes.Of(0x22, 0x11, ProxyBytes.IPv4),
        ProxyBytes.Of(0x21, 0x41, ProxyBytes.IPv4),
        ProxyBytes.Of(0x21, 0x13, ProxyBytes.IPv4),
        ProxyBytes.Of(0x21, 0x11, ProxyBytes.IPv4[..^1]),
        ProxyBytes.Of(0x21, 0x21, ProxyBytes.IPv6[..^1]),
    ];

    [Theory]
    [MemberData(nameof(Complete))]
    public void Parse_AHeaderAndMore_EndsWithTheHeader(string text, string? source, string? destination)
    {
        ProxyHeaderStatus status = ProxyHeader.Parse(Whole(text + "GET /"), out ProxyHeader header, out long length);

        Assert.Equal((ProxyHeaderStatus.Complete, text.Length), (status, length));
        Assert.Equal((source, destination), (header.Source?.ToString(), header.Destination?.ToString()));
    }

    [Theory]
    [MemberData(nameof(Complete))]
    public void Parse_InPieces_IsIncompleteUntilTheEnd(string text, string? source, string? destination)
    {
        Assert.Equal(ProxyHeaderStatus.Incomplete, ProxyHeader.Parse(Whole(text[..0]), out _, out _));
        for (int length = 1; length < text.Length; length += length < 300 ? 1 : 997)
        {
            Assert.Equal(ProxyHeaderStatus.Incomplete, ProxyHeader.Parse(Pieces(text[..length], seed: length), out _, out _));
        }

        Assert.Equal(ProxyHeaderStatus.Complete, ProxyHeader.Parse(Pieces(text, seed: 1), out ProxyHeader header, out _));
        Assert.Equal((source, destination), (header.Source?.ToString(), header.Destination?.ToString()));
    }

    [Theory]
    [MemberData(nameof(Malformed))]
    public void Parse_SomethingElse_IsMalformed(string text) =>
        Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Parse(Whole(text.EndsWith('\n') && !text.EndsWith("\r\n", StringComparison.Ordinal)
            ? text + new string('x', 107) : text), out _, out _));

    /// <summary>Valid headers with bytes changed, removed and added: no exception, and never a length beyond what was received.</summary>
    [Fact]
    public void Parse_OfMutatedHeaders_NeverThrows()
    {
        string[] whole = [.. Complete.Select(static row => row.Data.Item1).Where(static text => text.Length < 300)];
        Seeded.Check(Gen.Choose(0, int.MaxValue), seed =>
        {
            string text = Mutate(whole, new(seed));

            ProxyHeaderStatus status = ProxyHeader.Parse(Pieces(text, seed), out ProxyHeader header, out long length);

            return (header.Source is null) == (header.Destination is null)
                && (status == ProxyHeaderStatus.Complete ? length > 0 && length <= text.Length : header == default);
        });
    }

    private static string Mutate(string[] whole, Random random)
    {
        StringBuilder text = new(whole[random.Next(whole.Length)]);
        for (int change = random.Next(1, 4); change > 0; change--)
        {
            int at = random.Next(text.Length);
            _ = random.Next(3) switch
            {
                0 => text.Remove(at, 1),
                1 => text.Insert(at, (char)random.Next(256)),
                _ => text.Remove(at, 1).Insert(at, (char)random.Next(256)),
            };
        }

        return text.ToString();
    }

    private static ReadOnlySequence<byte> Whole(string latin1) => new(Encoding.Latin1.GetBytes(latin1));

    private static ReadOnlySequence<byte> Pieces(string latin1, int seed)
    {
        Random random = new(seed);
        byte[] bytes = Encoding.Latin1.GetBytes(latin1);
        int first = random.Next(bytes.Length + 1);
        int second = random.Next(first, bytes.Length + 1);
        Piece start = new(bytes.AsMemory(0, first), null);
        Piece end = new(bytes.AsMemory(second), new Piece(bytes.AsMemory(first, second - first), start));
        return new(start, 0, end, end.Memory.Length);
    }

    private sealed class Piece : ReadOnlySequenceSegment<byte>
    {
        public Piece(ReadOnlyMemory<byte> memory, Piece? before)
        {
            Memory = memory;
            if (before is not null)
            {
                before.Next = this;
                RunningIndex = before.RunningIndex + before.Memory.Length;
            }
        }
    }
}
