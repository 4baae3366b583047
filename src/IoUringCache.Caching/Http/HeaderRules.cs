using System.Collections.Frozen;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>Which fields go through, in which direction and on which kind of request. Any thread.</summary>
internal static class HeaderRules
{
    private static readonly FrozenSet<string> s_hopByHop = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.Connection, HeaderNames.KeepAlive, HeaderNames.ProxyConnection, HeaderNames.ProxyAuthenticate,
        HeaderNames.ProxyAuthorization, "Proxy-Authentication-Info", HeaderNames.TE, HeaderNames.Trailer,
        HeaderNames.TransferEncoding, HeaderNames.Upgrade, "HTTP2-Settings");

    /// <summary>Never forwarded: set by the service itself (Host, Via, forwarding fields), or answered by Kestrel (Expect).</summary>
    private static readonly FrozenSet<string> s_ours = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.Host, HeaderNames.Via, HeaderNames.Expect, "Forwarded", "X-Real-IP", "True-Client-IP", HeaderNames.ContentLength);

    /// <summary>Never forwarded either: origins are known to take them for another host, target or method, or for their own settings.</summary>
    private static readonly FrozenSet<string> s_overrides = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "X-Host", "X-Original-Host", "X-HTTP-Host-Override", "X-Original-URL", "X-Original-URI", "X-Rewrite-URL", "X-HTTP-Method",
        "X-HTTP-Method-Override", "X-Method-Override", "Proxy");

    /// <summary>What a stored response depends on, so that no update may change it without new bytes (RFC 9111 3.2).</summary>
    private static readonly FrozenSet<string> s_ofStoredBytes = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.ContentEncoding, HeaderNames.ContentRange, HeaderNames.ContentMD5, "Content-Digest");

    /// <summary>
    /// Of a response: what it is judged by. These and the fields that describe content are for all recipients, and so never those of one
    /// connection, whatever its <c>Connection</c> says (RFC 9110 7.6.1).
    /// </summary>
    private static readonly FrozenSet<string> s_forAll = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.CacheControl, SharingRules.TargetedField, HeaderNames.Age, HeaderNames.Date, HeaderNames.Vary, HeaderNames.SetCookie,
        HeaderNames.ETag, HeaderNames.Location, HeaderNames.RetryAfter, TagRules.SurrogateKeys, TagRules.Groups, TagRules.GroupInvalidation);

    /// <summary>What says who the client is.</summary>
    private static readonly FrozenSet<string> s_credentials = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.Authorization, HeaderNames.Cookie);

    /// <summary>What would make the answer a part, a 304 or a 412.</summary>
    private static readonly FrozenSet<string> s_conditions = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.Range, HeaderNames.IfRange, HeaderNames.IfMatch, HeaderNames.IfNoneMatch, HeaderNames.IfModifiedSince,
        HeaderNames.IfUnmodifiedSince);

    /// <summary>
    /// What a 304 has of the fields of its 200 (RFC 9110 15.4.5): what it must have, what caches read in the place of that, what tells of the way that
    /// the answer has come, and the groups, so that a cache in front that has the object purges it by those of now.
    /// </summary>
    private static readonly FrozenSet<string> s_notModified = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        HeaderNames.CacheControl, SharingRules.TargetedField, HeaderNames.ContentLocation, HeaderNames.Date, HeaderNames.ETag, HeaderNames.Expires,
        HeaderNames.Vary, HeaderNames.Age, HeaderNames.Via, CacheStatus.FieldName, TagRules.Groups);

    /// <summary>Fields of a request that goes to the origin for one client alone; <see langword="null"/> if any field holds a control character.</summary>
    /// <param name="keepsUnderscores">Whether names with an underscore are kept, which CGI and WSGI origins read as a hyphen.</param>
    public static List<HeaderField>? ForPass(IHeaderDictionary request, bool keepsUnderscores)
    {
        HashSet<string>? named = NamedBy(request.Connection);
        List<HeaderField> fields = new(request.Count + 3);
        foreach ((string name, StringValues values) in request)
        {
            if (FieldText.HoldsControl(values))
            {
                return null;
            }

            if (!name.Contains('_') ? !IsNeverForwarded(name) && !IsHopByHop(name, named) : keepsUnderscores && IsForwardedAs(name.Replace('_', '-')))
            {
                fields.Add(new(name, values));
            }
        }

        return fields;

        bool IsForwardedAs(string read) => !IsNeverForwarded(read) && !IsHopByHop(read, named);
    }

    /// <summary>
    /// Why no fetch for everybody carries a client's field of this name, as a clause for the operator; <see langword="null"/> where one may.
    /// </summary>
    public static string? RefusalOnFetch(string name) => name switch
    {
        _ when name.Length == 0 || !TokenText.Is(name) => "it is no field name",
        _ when name.Contains('_') => "origins behind CGI or WSGI read '_' as '-', and may take it for another field",
        _ when s_hopByHop.Contains(name) => "it concerns one connection",
        _ when s_credentials.Contains(name) => "it says who one client is; requests that have it go to the origin alone",
        _ when s_conditions.Contains(name) => "a fetch asks for the whole object, under conditions of its own",
        _ when name.Equals(HeaderNames.AcceptEncoding, StringComparison.OrdinalIgnoreCase) => "every fetch has one of its own",
        _ when DescribesContent(name) => "a fetch has no body",
        _ when TraceFields.Has(name) => "no response depends on it; Cache:PassTrace has a fetch carry it",
        _ when IsNeverForwarded(name) => "the service sets it itself, or origins take it for another host, target or method than the key's",
        _ => null,
    };

    /// <summary>True for a field that says who one client is.</summary>
    public static bool IsCredential(string name) => s_credentials.Contains(name);

    /// <summary>True for a field that only the request of one client carries: its credentials, and what the service says of it.</summary>
    public static bool IsOfOneClient(string name) =>
        IsCredential(name) || IsForwarding(name) || name.Equals("Forwarded", StringComparison.OrdinalIgnoreCase);

    /// <summary>
    /// The head of a response that is shared: whatever the origin can do, all of the body is here or will be, so ranges can be had.
    /// </summary>
    public static ResponseHead ForShared(ResponseHead head) =>
        head.StatusCode == StatusCodes.Status200OK ? head.With(new(HeaderNames.AcceptRanges, "bytes")) : head;

    /// <summary>
    /// The head that a stored response has after a 304 or the answer to a HEAD (RFC 9111 3.2): what is in the answer takes the place of
    /// what was there. Length, coding and digest are those of the bytes that are here; the age is the answer's, even where it tells none.
    /// </summary>
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

    /// <summary>True for what only this service knows of a stored response.</summary>
    public static bool IsOurOwn(string name) => name.StartsWith(':');

    /// <summary>True for a field of one connection, which a proxy takes off a response (RFC 9110 7.6.1, RFC 9111 3.1).</summary>
    public static bool IsHopByHopOfResponse(string name, HashSet<string>? namedByConnection) =>
        IsHopByHop(name, namedByConnection) && !s_forAll.Contains(name) && !DescribesContent(name);

    /// <summary>True for a field of a 200 that belongs on its 304 as well: the date of the last change only where there is no tag.</summary>
    public static bool IsOnNotModified(string name, ResponseHead head) =>
        s_notModified.Contains(name)
        || (name.Equals(HeaderNames.LastModified, StringComparison.OrdinalIgnoreCase) && head[HeaderNames.ETag].Count == 0);

    /// <summary>
    /// The names of fields that a <c>Connection</c> field lists, or <see langword="null"/> where there are none. What most of them hold,
    /// <c>close</c> and <c>keep-alive</c>, names none that would be kept otherwise.
    /// </summary>
    public static HashSet<string>? NamedBy(StringValues connection)
    {
        HashSet<string>? names = null;
        foreach (string? line in connection)
        {
            foreach (Range part in line.AsSpan().Split(','))
            {
                ReadOnlySpan<char> name = line.AsSpan(part).Trim(" \t");
                if (!name.IsEmpty && !Is(name, "keep-alive") && !Is(name, "close"))
                {
                    (names ??= new(StringComparer.OrdinalIgnoreCase)).Add(name.ToString());
                }
            }
        }

        return names;
    }

    /// <summary>All lines of a field; empty where it is absent.</summary>
    public static StringValues ValuesOf(List<HeaderField> fields, string name)
    {
        StringValues values = default;
        foreach (HeaderField field in fields)
        {
            if (Is(field.Name, name))
            {
                values = StringValues.Concat(values, field.Values);
            }
        }

        return values;
    }

    /// <summary>Whether a <c>Connection</c> field lists an option.</summary>
    public static bool Lists(StringValues connection, string option)
    {
        foreach (string? line in connection)
        {
            foreach (Range part in line.AsSpan().Split(','))
            {
                if (Is(line.AsSpan(part).Trim(" \t"), option))
                {
                    return true;
                }
            }
        }

        return false;
    }

    /// <summary>True for fields that belong to a body and that <see cref="HttpContent"/> carries.</summary>
    public static bool DescribesContent(string name) =>
        name.StartsWith("Content-", StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.Allow, StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.Expires, StringComparison.OrdinalIgnoreCase)
        || name.Equals(HeaderNames.LastModified, StringComparison.OrdinalIgnoreCase);

    private static bool Is(ReadOnlySpan<char> text, string name) => text.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static bool IsHopByHop(string name, HashSet<string>? namedByConnection) =>
        s_hopByHop.Contains(name) || namedByConnection?.Contains(name) == true;

    private static bool IsNeverForwarded(string name) =>
        s_ours.Contains(name) || s_overrides.Contains(name) || IsForwarding(name) || name.StartsWith(':');

    private static bool IsForwarding(string name) => name.StartsWith("X-Forwarded", StringComparison.OrdinalIgnoreCase);
}
