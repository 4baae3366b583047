using System.Buffers;
using System.Globalization;
using System.Text;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// Writes the head of a request (RFC 9112 3, 5), in Latin-1: a character beyond it becomes a question mark. A field whose name is no token is
/// left out: with a space or a colon in it an origin could read another one. Any thread.
/// </summary>
internal static class HeadWriter
{
    /// <summary>What no value holds: with these a field would become two.</summary>
    private static readonly SearchValues<char> s_breaks = SearchValues.Create("\r\n\0");

    /// <summary>What no method, target or host holds either: these end them.</summary>
    private static readonly SearchValues<char> s_breaksAndSpaces = SearchValues.Create("\r\n\0\t ");

    /// <summary>Not <see cref="Encoding.Latin1"/>, which writes a character that looks like the one it lacks: a full-width colon would be one.</summary>
    private static readonly Encoding s_latin1 =
        Encoding.GetEncoding("iso-8859-1", EncoderFallback.ReplacementFallback, DecoderFallback.ReplacementFallback);

    /// <exception cref="ArgumentException">A part holds what would end it.</exception>
    public static void Write(IBufferWriter<byte> output, in Http1Request request)
    {
        Span<byte> free = output.GetSpan(MaxLengthOf(request));
        int length = free.Length;
        Append(ref free, request.Method, s_breaksAndSpaces);
        Append(ref free, " ", s_breaks);
        Append(ref free, request.PathPrefix, s_breaksAndSpaces);
        Append(ref free, request.Target, s_breaksAndSpaces);
        Append(ref free, " HTTP/1.1", s_breaks);
        EndLine(ref free);
        AppendField(ref free, HeaderNames.Host, request.Host, s_breaksAndSpaces);
        bool describesBody = request.Body is not null || request.TellsThatThereIsNoBody;
        foreach ((string name, StringValues values) in request.Fields)
        {
            // Kestrel takes some names that are none (RFC 9110 5.1).
            if (name.Length == 0 || !TokenText.Is(name) || (!describesBody && HeaderRules.DescribesContent(name)))
            {
                continue;
            }

            // Lines may be joined (RFC 9110 5.3); HTTP/2 may bring a cookie in pieces (RFC 9113 8.2.3).
            string separator = name.Equals(HeaderNames.Cookie, StringComparison.OrdinalIgnoreCase) ? "; " : ", ";
            AppendField(ref free, name, values.Count == 1 ? values.ToString() : string.Join(separator, (IEnumerable<string?>)values));
        }

        if (request.Body is { Length: null })
        {
            AppendField(ref free, HeaderNames.TransferEncoding, "chunked");
        }
        else if (describesBody)
        {
            AppendField(ref free, HeaderNames.ContentLength, (request.Body?.Length ?? 0).ToString(CultureInfo.InvariantCulture));
        }

        EndLine(ref free);
        output.Advance(length - free.Length);
    }

    private static int MaxLengthOf(in Http1Request request)
    {
        const int Fixed = 128; // Version, separators, and the field on the body.
        int length = Fixed + request.Method.Length + request.PathPrefix.Length + request.Target.Length + request.Host.Length;
        foreach ((string name, StringValues values) in request.Fields)
        {
            length += name.Length + 4;
            foreach (string? value in values)
            {
                length += (value?.Length ?? 0) + 2;
            }
        }

        return length;
    }

    private static void AppendField(ref Span<byte> free, string name, string value) => AppendField(ref free, name, value, s_breaks);

    private static void AppendField(ref Span<byte> free, string name, string value, SearchValues<char> refused)
    {
        Append(ref free, name, s_breaks);
        Append(ref free, ": ", s_breaks);
        Append(ref free, value, refused);
        EndLine(ref free);
    }

    private static void EndLine(ref Span<byte> free)
    {
        "\r\n"u8.CopyTo(free);
        free = free[2..];
    }

    private static void Append(ref Span<byte> free, string text, SearchValues<char> refused)
    {
        if (text.AsSpan().ContainsAny(refused))
        {
            throw new ArgumentException("A part of a request's head holds a line break, NUL, or a space that would end it.", nameof(text));
        }

        free = free[s_latin1.GetBytes(text, free)..];
    }
}
