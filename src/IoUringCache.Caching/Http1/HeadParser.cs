using System.Buffers;
using System.Buffers.Text;
using System.Collections.Frozen;
using System.Runtime.InteropServices;
using System.Text;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// Reads the head of a response, strictly (RFC 9112 2 to 5): each line ends with CR LF, names are tokens without a space behind them, no line
/// is folded, no value holds a control character but the tab. What is not read so could be read in two ways. Any thread.
/// </summary>
internal static class HeadParser
{
    /// <summary>Bytes of a head, the empty line included.</summary>
    public const int MaxBytes = 64 * 1024;

    private const int MinStatusLine = 12; // "HTTP/1.1 200"

    private static readonly SearchValues<byte> s_token =
        SearchValues.Create("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    private static readonly SearchValues<byte> s_value =
        SearchValues.Create([(byte)'\t', .. Enumerable.Range(0x20, 0x100 - 0x20).Where(static code => code != 0x7f).Select(static code => (byte)code)]);

    /// <summary>Names that need no string of their own.</summary>
    private static readonly FrozenDictionary<string, string>.AlternateLookup<ReadOnlySpan<char>> s_names = FrozenDictionary
        .ToFrozenDictionary(
            [
                HeaderNames.AcceptRanges, HeaderNames.AccessControlAllowOrigin, HeaderNames.Age, HeaderNames.Allow, HeaderNames.AltSvc,
                HeaderNames.CacheControl, HeaderNames.Connection, HeaderNames.ContentDisposition, HeaderNames.ContentEncoding,
                HeaderNames.ContentLanguage, HeaderNames.ContentLength, HeaderNames.ContentLocation, HeaderNames.ContentRange,
                HeaderNames.ContentSecurityPolicy, HeaderNames.ContentType, HeaderNames.Date, HeaderNames.ETag, HeaderNames.Expires,
                HeaderNames.KeepAlive, HeaderNames.LastModified, HeaderNames.Link, HeaderNames.Location, HeaderNames.Pragma,
                HeaderNames.RetryAfter, HeaderNames.Server, HeaderNames.SetCookie, HeaderNames.StrictTransportSecurity, HeaderNames.Trailer,
                HeaderNames.TransferEncoding, HeaderNames.Vary, HeaderNames.Via, HeaderNames.XContentTypeOptions, HeaderNames.XFrameOptions,
                HeaderNames.XPoweredBy, HeaderNames.XXSSProtection, CacheStatus.FieldName,
            ],
            static name => name,
            StringComparer.OrdinalIgnoreCase)
        .GetAlternateLookup<ReadOnlySpan<char>>();

    /// <summary>The number of bytes of the head that begins here, the empty line included; 0 if its end has not come.</summary>
    /// <exception cref="Http1Exception">It is too long, or is none already.</exception>
    public static int LengthOf(ReadOnlySpan<byte> received)
    {
        int end = received.IndexOf("\r\n\r\n"u8);
        if (end >= 0)
        {
            return end + 4 <= MaxBytes ? end + 4 : throw TooLong();
        }

        // Not only at the end of the time: an answer that breaks the rules may never have an empty line.
        if (!"HTTP/1."u8.StartsWith(received[..Math.Min(received.Length, 7)]))
        {
            throw NotHttp();
        }

        for (ReadOnlySpan<byte> rest = received; rest.IndexOf((byte)'\n') is var line and >= 0; rest = rest[(line + 1)..])
        {
            if (line == 0 || rest[line - 1] != '\r')
            {
                throw BareLineFeed();
            }
        }

        return received.Length < MaxBytes ? 0 : throw TooLong();
    }

    /// <param name="head">As long as <see cref="LengthOf"/> says.</param>
    /// <param name="fields">Gets its fields; empty so far.</param>
    /// <param name="before">Those of the head before on the same connection, whose texts are taken where they are the same.</param>
    /// <exception cref="Http1Exception">It breaks a rule.</exception>
    public static ReceivedHead Parse(ReadOnlySpan<byte> head, List<HeaderField> fields, List<HeaderField> before)
    {
        int end = head.IndexOf("\r\n"u8);
        (int status, int minorVersion) = ParseStatusLine(head[..end]);
        for (ReadOnlySpan<byte> rest = head[(end + 2)..]; rest.Length > 2; rest = rest[(end + 2)..])
        {
            end = rest.IndexOf("\r\n"u8);
            AddField(fields, before, rest[..end]);
        }

        return new(status, minorVersion, fields);
    }

    /// <summary>Whether bytes are what a value is made of: no control characters but the tab.</summary>
    public static bool IsText(ReadOnlySpan<byte> bytes) => !bytes.ContainsAnyExcept(s_value);

    /// <summary>Checks a line that is a field, whose name and value are for nobody: a trailer.</summary>
    /// <param name="line">Without its end.</param>
    /// <exception cref="Http1Exception">It is none.</exception>
    public static void CheckField(ReadOnlySpan<byte> line) => Split(line, out _, out _);

    private static (int Status, int MinorVersion) ParseStatusLine(ReadOnlySpan<byte> line)
    {
        bool isStatusLine = line.Length >= MinStatusLine
            && line.StartsWith("HTTP/1."u8)
            && char.IsAsciiDigit((char)line[7])
            && line[8] == ' '
            && line[9] != '0'
            && (line.Length == MinStatusLine || line[MinStatusLine] == ' ')
            && IsText(line[MinStatusLine..]);
        return isStatusLine && Utf8Parser.TryParse(line[9..MinStatusLine], out uint status, out int digits) && digits == 3
            ? ((int)status, line[7] - '0')
            : throw NotHttp();
    }

    private static void AddField(List<HeaderField> fields, List<HeaderField> before, ReadOnlySpan<byte> line)
    {
        Split(line, out ReadOnlySpan<byte> nameBytes, out ReadOnlySpan<byte> value);
        HeaderField last = fields.Count < before.Count ? before[fields.Count] : default;
        string name = last.Name is { } lastName && Ascii.Equals(nameBytes, lastName) ? lastName : NameOf(nameBytes);
        string text = last.Values is [{ } lastText] && Ascii.Equals(value, lastText) ? lastText : Encoding.Latin1.GetString(value);
        foreach (ref HeaderField field in CollectionsMarshal.AsSpan(fields))
        {
            if (field.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
            {
                field = new(name, StringValues.Concat(field.Values, text));
                return;
            }
        }

        fields.Add(new(name, text));
    }

    private static void Split(ReadOnlySpan<byte> line, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        int colon = line.IndexOf((byte)':');
        name = line[..Math.Max(colon, 0)];
        if (name.IsEmpty || name.ContainsAnyExcept(s_token))
        {
            throw new Http1Exception(Http1Fault.BadMessage, "a line of the head is no field");
        }

        value = line[(colon + 1)..].Trim(" \t"u8);
        if (!IsText(value))
        {
            throw value.Contains((byte)'\n') ? BareLineFeed() : new(Http1Fault.BadField, "a header field holds a control character");
        }
    }

    private static string NameOf(ReadOnlySpan<byte> name)
    {
        const int LongestKnown = 32;
        Span<char> characters = stackalloc char[LongestKnown];
        if (name.Length > LongestKnown)
        {
            return Encoding.ASCII.GetString(name);
        }

        int length = Encoding.ASCII.GetChars(name, characters);
        return s_names.TryGetValue(characters[..length], out string? known) ? known : new(characters[..length]);
    }

    private static Http1Exception NotHttp() => new(Http1Fault.BadMessage, "the answer does not begin with a status line of HTTP/1.1");

    private static Http1Exception BareLineFeed() => new(Http1Fault.BadMessage, "a line of the head does not end with CR LF");

    private static Http1Exception TooLong() => new(Http1Fault.BadMessage, $"the head is longer than {MaxBytes} bytes");
}
