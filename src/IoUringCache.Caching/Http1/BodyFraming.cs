using System.Globalization;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http1;

/// <summary>How the end of a body is found (RFC 9112 6.3). Immutable.</summary>
/// <param name="IsChunked">By the last chunk.</param>
/// <param name="Length">By this number of bytes; <see langword="null"/> where there is no <c>Content-Length</c>.</param>
internal readonly record struct BodyFraming(bool IsChunked, long? Length)
{
    /// <summary>What the fields of a response say.</summary>
    /// <param name="isHttp10">Whether it is one of HTTP/1.0, which knows no chunks.</param>
    /// <exception cref="Http1Exception">They contradict each other, or cannot be read.</exception>
    public static BodyFraming Of(List<HeaderField> fields, bool isHttp10)
    {
        StringValues lengths = HeaderRules.ValuesOf(fields, HeaderNames.ContentLength);
        StringValues codings = HeaderRules.ValuesOf(fields, HeaderNames.TransferEncoding);
        if (codings.Count > 0)
        {
            if (isHttp10)
            {
                throw new Http1Exception(Http1Fault.BadFraming, "chunks in an answer of HTTP/1.0"); // RFC 9112 6.1.
            }

            return lengths.Count == 0 && codings.ToString().Equals("chunked", StringComparison.OrdinalIgnoreCase)
                ? new(IsChunked: true, Length: null)
                : throw new Http1Exception(Http1Fault.BadFraming, "Transfer-Encoding is not just chunked, or Content-Length is there too");
        }

        return lengths.Count switch
        {
            0 => default,
            1 when long.TryParse(lengths[0], NumberStyles.None, CultureInfo.InvariantCulture, out long length) => new(IsChunked: false, length),
            _ => throw new Http1Exception(Http1Fault.BadFraming, "Content-Length is not one number"),
        };
    }
}
