using System.Collections.Immutable;
using System.Globalization;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Reads the head of an origin's response with the checks that the HTTP stack leaves out: it lets chunked win over Content-Length,
/// and reads to the end of the connection where a length is no number. Any thread.
/// </summary>
internal static class OriginFraming
{
    /// <summary>Makes the head, end-to-end fields only and with a <c>Date</c> that is one.</summary>
    /// <exception cref="OriginException">Conflicting or unreadable framing, or control characters in a field.</exception>
    public static ResponseHead ReadHead(HttpResponseMessage message, DateTimeOffset now)
    {
        List<HeaderField> received = message.Headers.NonValidated.Concat(message.Content.Headers.NonValidated)
            .Select(field => new HeaderField(field.Key, new StringValues([.. field.Value]))).ToList();
        long? contentLength = CheckFraming(received);
        return new((int)message.StatusCode, Select(received, now), contentLength);
    }

    /// <summary>The end-to-end fields of a response, without <c>Content-Length</c> and with a <c>Date</c> that is one.</summary>
    /// <exception cref="OriginException">Control characters in a field.</exception>
    public static ImmutableArray<HeaderField> Select(List<HeaderField> received, DateTimeOffset now)
    {
        HashSet<string>? named = HeaderRules.NamedBy(ValuesOf(received, HeaderNames.Connection));
        List<HeaderField> kept = new(received.Count + 1);
        foreach (HeaderField field in received)
        {
            if (FieldText.HoldsControl(field.Values))
            {
                throw OriginException.BadGateway("origin-bad-headers", "a header field holds a control character");
            }

            if (!HeaderRules.IsHopByHopOfResponse(field.Name, named)
                && !field.Name.Equals(HeaderNames.ContentLength, StringComparison.OrdinalIgnoreCase))
            {
                kept.Add(field);
            }
        }

        if (!HttpDate.TryParse(ValuesOf(kept, HeaderNames.Date).ToString(), now, out _))
        {
            // RFC 9110 6.6.1: a recipient adds the time of receipt where there is no Date, and may replace one that is none.
            kept.RemoveAll(field => field.Name.Equals(HeaderNames.Date, StringComparison.OrdinalIgnoreCase));
            kept.Add(new(HeaderNames.Date, now.ToString("R", CultureInfo.InvariantCulture)));
        }

        return [.. kept];
    }

    private static long? CheckFraming(List<HeaderField> received)
    {
        StringValues lengths = ValuesOf(received, HeaderNames.ContentLength);
        StringValues codings = ValuesOf(received, HeaderNames.TransferEncoding);
        if (codings.Count > 0)
        {
            return lengths.Count == 0 && codings.ToString().Equals("chunked", StringComparison.OrdinalIgnoreCase)
                ? null
                : throw OriginException.BadGateway(
                    "origin-bad-framing", "Transfer-Encoding is not just chunked, or Content-Length is there too");
        }

        return lengths.Count switch
        {
            0 => null,
            1 when long.TryParse(lengths[0], NumberStyles.None, CultureInfo.InvariantCulture, out long length) => length,
            _ => throw OriginException.BadGateway("origin-bad-framing", "Content-Length is not one number"),
        };
    }

    private static StringValues ValuesOf(List<HeaderField> fields, string name) =>
        fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Aggregate(StringValues.Empty, (values, field) => StringValues.Concat(values, field.Values));
}
