using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>As much of HPACK (RFC 7541) as .NET's client sends, which is without Huffman codes and dynamic table, and as an answer needs.</summary>
internal static class HeaderBlock
{
    private const int Huffman = 0x80;

    /// <summary>Of the static table; fields with other names in it are decoded under their index.</summary>
    private static readonly (string Name, string Value)[] s_static =
    [
        default, (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
        (":scheme", "https"),
    ];

    public static List<(string Name, string Value)> Decode(ReadOnlySpan<byte> block)
    {
        List<(string, string)> fields = [];
        while (!block.IsEmpty)
        {
            byte first = block[0];
            if ((first & 0x80) != 0)
            {
                fields.Add(Known(Number(ref block, 7)));
                continue;
            }

            int index = Number(ref block, (first & 0x40) != 0 ? 6 : 4);
            string name = index == 0 ? Text(ref block) : Known(index).Name;
            fields.Add((name, Text(ref block)));
        }

        return fields;
    }

    public static byte[] Encode((string Name, string Value)[] fields)
    {
        List<byte> block = [];
        foreach ((string name, string value) in fields)
        {
            block.Add(0);
            Add(block, name);
            Add(block, value);
        }

        return [.. block];
    }

    private static (string Name, string Value) Known(int index) => index < s_static.Length ? s_static[index] : ($"#{index}", "");

    private static void Add(List<byte> block, string text)
    {
        if (text.Length < 127)
        {
            block.Add((byte)text.Length);
        }
        else
        {
            block.Add(127);
            int rest = text.Length - 127;
            for (; rest >= 128; rest >>= 7)
            {
                block.Add((byte)(128 | (rest & 127)));
            }

            block.Add((byte)rest);
        }

        block.AddRange(Encoding.Latin1.GetBytes(text));
    }

    private static string Text(ref ReadOnlySpan<byte> block)
    {
        Assert.True((block[0] & Huffman) == 0, "A string has a Huffman code.");
        int length = Number(ref block, 7);
        string text = Encoding.Latin1.GetString(block[..length]);
        block = block[length..];
        return text;
    }

    private static int Number(ref ReadOnlySpan<byte> block, int prefix)
    {
        int most = (1 << prefix) - 1;
        int value = block[0] & most;
        block = block[1..];
        for (int shift = 0; value >= most; shift += 7)
        {
            byte next = block[0];
            block = block[1..];
            value += (next & 127) << shift;
            if ((next & 128) == 0)
            {
                break;
            }
        }

        return value;
    }
}
