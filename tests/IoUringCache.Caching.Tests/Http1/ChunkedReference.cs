using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>A second, slow reading of RFC 9112 7.1, of a whole message and by regular expressions, to compare the decoder with.</summary>
internal static partial class ChunkedReference
{
    /// <param name="message">All that comes before the connection ends, one character for each byte.</param>
    /// <returns>The body, where the message ends, and the fault, in which case the body is what could be had before it.</returns>
    public static (string Body, int End, Http1Fault? Fault) Read(string message)
    {
        StringBuilder body = new();
        int at = 0;
        while (true)
        {
            Match size = SizeLine().Match(message, at);
            if (!size.Success)
            {
                return (body.ToString(), at, Http1Fault.BadMessage);
            }

            at += size.Length;
            long length = long.Parse(size.Groups[1].ValueSpan, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            if (length == 0)
            {
                break;
            }

            body.Append(message.AsSpan(at, (int)Math.Min(length, message.Length - at)));
            if (message.Length - at < length + 2 || message.Substring(at + (int)length, 2) != "\r\n")
            {
                return (body.ToString(), at, Http1Fault.BadMessage);
            }

            at += (int)length + 2;
        }

        while (true)
        {
            int end = message.IndexOf('\r', at);
            if (end < 0 || end + 1 == message.Length || message[end + 1] != '\n')
            {
                return (body.ToString(), at, Http1Fault.BadMessage);
            }

            string line = message[at..end];
            at = end + 2;
            if (line.Length == 0)
            {
                return (body.ToString(), at, null);
            }

            Match field = Field().Match(line);
            if (!field.Success || field.Groups[1].Value.Any(character => char.IsControl(character) && character is not '\t' and < '\x80'))
            {
                return (body.ToString(), at, field.Success && !field.Groups[1].Value.Contains('\n') ? Http1Fault.BadField : Http1Fault.BadMessage);
            }
        }
    }

    [GeneratedRegex(@"\G([0-9a-fA-F]{1,15})(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n", RegexOptions.CultureInvariant)]
    private static partial Regex SizeLine();

    [GeneratedRegex(@"\A[!#$%&'*+\-.^_`|~0-9a-zA-Z]+:([\x00-\xff]*)\z", RegexOptions.CultureInvariant)]
    private static partial Regex Field();
}
