using System.Collections.Immutable;
using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Runtime.InteropServices;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Http1;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Reads the head of an origin's response with the checks that the HTTP stack leaves out: it lets chunked win over Content-Length,
/// and reads to the end of the connection where a length is no number. Any thread.
/// </summary>
internal static class OriginFraming
{
    /// <summary>Fields for whose places the stack has room; more take an array.</summary>
    private const int UsualFields = 64;

    /// <summary>Makes the head, end-to-end fields only and with a <c>Date</c> that is one.</summary>
    /// <exception cref="Http1Exception">Conflicting or unreadable framing.</exception>
    /// <exception cref="OriginException">Control characters in a field.</exception>
    public static ResponseHead ReadHead(HttpResponseMessage message, DateTimeOffset now)
    {
        HttpHeadersNonValidated ofMessage = message.Headers.NonValidated;
        HttpHeadersNonValidated ofContent = message.Content.Headers.NonValidated;
        List<HeaderField> received = new(ofMessage.Count + ofContent.Count);
        AddAll(received, ofMessage);
        AddAll(received, ofContent);
        return new((int)message.StatusCode, Select(received, now), BodyFraming.Of(received, isHttp10: message.Version == HttpVersion.Version10).Length);
    }

    /// <summary>The end-to-end fields of a response, without <c>Content-Length</c> and with a <c>Date</c> that is one.</summary>
    /// <exception cref="OriginException">Control characters in a field.</exception>
    public static ImmutableArray<HeaderField> Select(List<HeaderField> received, DateTimeOffset now)
    {
        HashSet<string>? named = HeaderRules.NamedBy(HeaderRules.ValuesOf(received, HeaderNames.Connection));
        Span<int> kept = received.Count <= UsualFields ? stackalloc int[UsualFields] : new int[received.Count];
        int count = 0;
        StringValues dates = default;
        for (int index = 0; index < received.Count; index++)
        {
            HeaderField field = received[index];
            if (FieldText.HoldsControl(field.Values))
            {
                throw OriginException.BadGateway("origin-bad-headers", "a header field holds a control character");
            }

            if (Is(field, HeaderNames.Date))
            {
                dates = StringValues.Concat(dates, field.Values);
            }
            else if (!HeaderRules.IsHopByHopOfResponse(field.Name, named) && !Is(field, HeaderNames.ContentLength))
            {
                kept[count++] = index;
            }
        }

        // RFC 9110 6.6.1: a recipient adds the time of receipt where there is no Date, and may replace one that is none.
        bool isDate = HttpDate.TryParse(dates.ToString(), now, out _);
        HeaderField[] fields = new HeaderField[count + 1];
        for (int index = 0; index < count; index++)
        {
            fields[index] = received[kept[index]];
        }

        fields[count] = new(HeaderNames.Date, isDate ? dates : now.ToString("R", CultureInfo.InvariantCulture));
        return ImmutableCollectionsMarshal.AsImmutableArray(fields);
    }

    private static void AddAll(List<HeaderField> received, HttpHeadersNonValidated fields)
    {
        foreach ((string name, HeaderStringValues values) in fields)
        {
            received.Add(new(name, values.Count == 1 ? new StringValues(values.ToString()) : new([.. values])));
        }
    }

    private static bool Is(in HeaderField field, string name) => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase);
}
