using System.Globalization;
using System.Text;
using System.Text.Unicode;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// How requests of operators, and answers to them, write a tag. A tag is the bytes of the origin's field, with one character for each, since
/// HTTP gives them no coding. A query names these bytes, percent-encoded where they are not ASCII. So UTF-8 there is UTF-8 in the field. Any
/// thread.
/// </summary>
internal static class TagText
{
    /// <summary>The tag that a query names. A percent sign that begins no escape stands for itself.</summary>
    public static string Decode(string encoded)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(encoded);
        StringBuilder tag = new(bytes.Length);
        for (int index = 0; index < bytes.Length; index++)
        {
            byte value = bytes[index];
            if (value == '%'
                && index + 2 < bytes.Length
                && byte.TryParse(bytes.AsSpan(index + 1, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out byte escaped))
            {
                value = escaped;
                index += 2;
            }

            tag.Append((char)value);
        }

        return tag.ToString();
    }

    /// <summary>What people read: text where the bytes are UTF-8, else what a query has to have.</summary>
    public static string Describe(string tag)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(tag);
        return Utf8.IsValid(bytes)
            ? Encoding.UTF8.GetString(bytes)
            : string.Concat(bytes.Select(static value => value is (byte)'%' or > 0x7F ? $"%{value:X2}" : $"{(char)value}"));
    }
}
