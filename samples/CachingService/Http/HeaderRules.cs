using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace CachingService.Http;

/// <summary>Which fields go through, in which direction and on which kind of request. Any thread.</summary>
internal static class HeaderRules
{
    private static readonly HashSet<string> s_hopByHop = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.Connection, HeaderNames.KeepAlive, HeaderNames.ProxyConnection, HeaderNames.ProxyAuthenticate,
        HeaderNames.ProxyAuthorization, "Proxy-Authentication-Info", HeaderNames.TE, HeaderNames.Trailer,
        HeaderNames.TransferEncoding, HeaderNames.Upgrade, "HTTP2-Settings",
    };

    /// <summary>
    /// Never forwarded: set by us (Host, Via, forwarding fields), answered by Kestrel (Expect), or known for making an origin answer
    /// another question than the one in the key.
    /// </summary>
    private static readonly HashSet<string> s_ours = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.Host, HeaderNames.Via, HeaderNames.Expect, "Forwarded", "X-Real-IP", "X-Original-URL", "X-Rewrite-URL",
        "X-HTTP-Method-Override", HeaderNames.ContentLength,
    };

    /// <summary>What a stored response depends on, so that no update may change it without new bytes (RFC 9111 3.2).</summary>
    private static readonly HashSet<string> s_ofStoredBytes = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.ContentEncoding, HeaderNames.ContentRange, HeaderNames.ContentMD5, "Content-Digest",
    };

    /// <summary>
    /// Of a response: what it is judged by. These and the fields that describe content are for all recipients, and so never those of one
    /// connection, whatever its <c>Connection</c> says (RFC 9110 7.6.1).
    /// </summary>
    private static readonly HashSet<string> s_forAll = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.CacheControl, SharingRules.TargetedField, HeaderNames.Age, HeaderNames.Date, HeaderNames.Vary, HeaderNames.SetCookie,
        HeaderNames.ETag, HeaderNames.Location, HeaderNames.RetryAfter, TagRules.SurrogateKeys, TagRules.Groups, TagRules.GroupInvalidation,
    };

    /// <summary>
    /// Not on a fill, whose answer is for everybody: what identifies the first client, what would make the answer a part or a 304,
    /// what describes a body, and the codings that only the first client may understand (<see cref="AcceptedCodings"/> go instead).
    /// </summary>
    private static readonly HashSet<string> s_personal = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.Authorization, HeaderNames.Cookie, HeaderNames.Range, HeaderNames.IfRange, HeaderNames.IfMatch,
        HeaderNames.IfNoneMatch, HeaderNames.IfModifiedSince, HeaderNames.IfUnmodifiedSince, HeaderNames.AcceptEncoding,
    };

    /// <summary>
    /// What a 304 has of the fields of its 200 (RFC 9110 15.4.5): what it must have, what tells of the way that the answer has come, and the
    /// groups, so that a cache in front that has the object purges it by those of now.
    /// </summary>
    private static readonly HashSet<string> s_notModified = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.CacheControl, HeaderNames.ContentLocation, HeaderNames.Date, HeaderNames.ETag, HeaderNames.Expires, HeaderNames.Vary,
        HeaderNames.Age, HeaderNames.Via, CacheStatus.FieldName, TagRules.Groups,
    };

    /// <summary>Fields of a request that goes to the origin for one client alone.</summary>
    public static List<HeaderField> ForPass(IHeaderDictionary request) => Select(request, name => !IsNeverForwarded(name));

    /// <summary>Fields of a request whose answer may be shared.</summary>
    public static List<HeaderField> ForFill(IHeaderDictionary request)
    {
        List<HeaderField> fields = Select(request, IsUnchangedOnFill);
        int languages = fields.FindIndex(static field => field.Name.Equals(HeaderNames.AcceptLanguage, StringComparison.OrdinalIgnoreCase));
        if (languages >= 0)
        {
            fields[languages] = new(HeaderNames.AcceptLanguage, AcceptedLanguages.Normalize(fields[languages].Values));
        }

        fields.Add(new(HeaderNames.AcceptEncoding, AcceptedCodings.Normalize(request.AcceptEncoding)));
        return fields;
    }

    /// <summary>True for a field by whose value the origin's answer to a fill may differ.</summary>
    public static bool IsCarriedByFill(string name) =>
        name.Equals(HeaderNames.AcceptEncoding, StringComparison.OrdinalIgnoreCase) || (IsUnchangedOnFill(name) && !s_hopByHop.Contains(name));

    /// <summary>
    /// The head of a response that is shared: whatever the origin can do, all of the body is here or will be, so ranges can be had.
    /// </summary>
    public static ResponseHead ForShared(ResponseHead head) =>
        head.StatusCode == StatusCodes.Status200OK ? head.With(new(HeaderNames.AcceptRanges, "bytes")) : head;

    /// <summary>
    /// The head that a stored response has after a 304 or the answer to a HEAD (RFC 9111 3.2): what is in the answer takes the place of
    /// what was there. Length, coding and digest are those of the bytes that are here; the age is the answer's, even where it tells none.
    /// </summary>
    /// <param name="stored">The head so far.</param>
    /// <param name="answer">As it came, without the fields of its connection.</param>
    public static ResponseHead Update(ResponseHead stored, ResponseHead answer)
    {
        List<HeaderField> updates = [.. answer.Fields.Where(field => !s_ofStoredBytes.Contains(field.Name))];
        HashSet<string> replaced = new(updates.Select(field => field.Name), StringComparer.OrdinalIgnoreCase) { HeaderNames.Age };
        return ForShared(new(
            stored.StatusCode, [.. stored.Fields.Where(field => !replaced.Contains(field.Name)), .. updates], stored.ContentLength));
    }

    /// <summary>True for a field of a response that is meant for caches like this one alone.</summary>
    public static bool IsForCaches(string name) => name.Equals(TagRules.SurrogateKeys, StringComparison.OrdinalIgnoreCase);

    /// <summary>True for a field of one connection, which a proxy takes off a response (RFC 9110 7.6.1, RFC 9111 3.1).</summary>
    public static bool IsHopByHopOfResponse(string name, HashSet<string>? namedByConnection) =>
        IsHopByHop(name, namedByConnection) && !s_forAll.Contains(name) && !DescribesContent(name);

    /// <summary>True for a field of a 200 that belongs on its 304 as well: the date of the last change only where there is no tag.</summary>
    public static bool IsOnNotModified(string name, ResponseHead head) =>
        s_notModified.Contains(name)
        || (name.Equals(HeaderNames.LastModified, StringComparison.OrdinalIgnoreCase) && head[HeaderNames.ETag].Count == 0);

    /// <summary>The names that a <c>Connection</c> field lists, or <see langword="null"/> where there are none.</summary>
    public static HashSet<string>? NamedBy(StringValues connection)
    {
        HashSet<string>? names = null;
        foreach (string? line in connection)
        {
            foreach (string name in (line ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            {
                (names ??= new(StringComparer.OrdinalIgnoreCase)).Add(name);
            }
        }

        return names;
    }

    /// <summary>True for fields that belong to a body and that <see cref="HttpContent"/> carries.</summary>
    public static bool DescribesContent(string name) =>
        name.StartsWith("Content-", StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.Allow, StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.Expires, StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.LastModified, StringComparison.OrdinalIgnoreCase);

    private static bool IsHopByHop(string name, HashSet<string>? namedByConnection) =>
        s_hopByHop.Contains(name) || namedByConnection?.Contains(name) == true;

    private static bool IsUnchangedOnFill(string name) => !IsNeverForwarded(name) && !s_personal.Contains(name) && !DescribesContent(name);

    private static bool IsNeverForwarded(string name) =>
        s_ours.Contains(name) || name.StartsWith("X-Forwarded-", StringComparison.OrdinalIgnoreCase) || name.StartsWith(':');

    private static List<HeaderField> Select(IHeaderDictionary request, Predicate<string> isWanted)
    {
        HashSet<string>? named = NamedBy(request.Connection);
        List<HeaderField> fields = new(request.Count + 2);
        foreach ((string name, StringValues values) in request)
        {
            if (isWanted(name) && !IsHopByHop(name, named))
            {
                fields.Add(new(name, values));
            }
        }

        return fields;
    }
}
