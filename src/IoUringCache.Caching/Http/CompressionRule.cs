using System.Collections.Frozen;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Which responses of a route are compressed here, and how (RFC 9110 8.4): a variant for each text of <c>Accept-Encoding</c> that fetches send, with
/// weak tags, because the bytes are not those that the origin promised. Immutable; any thread.
/// </summary>
/// <param name="codings">In the order in which they are preferred; none: nothing is compressed.</param>
/// <param name="types">Media types in lower case.</param>
/// <param name="minBytes">Of a body whose length is known.</param>
internal sealed class CompressionRule(IReadOnlyList<ContentCoding> codings, NameList types, long minBytes)
{
    private const string Brotli = "br";
    private const string Gzip = "gzip";

    /// <summary>What a response says of the bytes that the origin has sent, and a compressed one cannot (RFC 9530, RFC 3230).</summary>
    private static readonly FrozenSet<string> s_digests = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase, HeaderNames.ContentMD5, "Content-Digest", "Repr-Digest", "Digest");

    /// <summary>Reads names of codings, of which those that are known here count.</summary>
    public static ContentCoding? CodingOf(string name) => name switch
    {
        Brotli => ContentCoding.Brotli,
        Gzip => ContentCoding.Gzip,
        _ => null,
    };

    /// <summary>Whether a response differs by what clients can read, because it is compressed for those who can.</summary>
    /// <param name="head">As it came.</param>
    public bool Covers(ResponseHead head) =>
        codings.Count > 0
        && head.StatusCode == StatusCodes.Status200OK
        && !(head.ContentLength < minBytes)
        && head[HeaderNames.ContentEncoding].Count == 0
        && types.Contains(MediaTypeOf(head))
        && !CacheControl.Parse(head[HeaderNames.CacheControl]).NoTransform
        && !CacheControl.Parse(head[SharingRules.TargetedField]).NoTransform;

    /// <summary>What it is compressed by for a request.</summary>
    /// <param name="accepted">All lines of <c>Accept-Encoding</c>.</param>
    public ContentCoding Choose(StringValues accepted)
    {
        CodingWeights weights = CodingWeights.Parse(accepted);
        return codings.FirstOrDefault(coding => (coding == ContentCoding.Brotli ? weights.Brotli : weights.Gzip) > 0);
    }

    /// <summary>The head of the variant.</summary>
    /// <param name="head">One that is covered.</param>
    /// <param name="coding">What <see cref="Choose"/> has chosen.</param>
    public static ResponseHead Encode(ResponseHead head, ContentCoding coding) => coding == ContentCoding.Identity ? Vary(head) : new(
        head.StatusCode,
        [
            .. Vary(Weaken(head)).Fields.Where(static field => !s_digests.Contains(field.Name)),
            new(HeaderNames.ContentEncoding, coding == ContentCoding.Brotli ? Brotli : Gzip),
        ],
        contentLength: null);

    /// <summary>What a 304 of the origin, which knows no variants, says of the one that is stored.</summary>
    /// <param name="stored">The variant that was asked about.</param>
    /// <param name="answer">Of the origin.</param>
    public ResponseHead Confirm(ResponseHead stored, ResponseHead answer)
    {
        if (codings.Count > 0 && answer[HeaderNames.Vary].Count > 0 && NamesCoding(stored))
        {
            answer = Vary(answer);
        }

        return codings.Count > 0
            && stored[HeaderNames.ContentEncoding].Count > 0
            && EntityTag.Parse(stored[HeaderNames.ETag]) is { IsWeak: true } weak
            && EntityTag.Parse(answer[HeaderNames.ETag]) is { } tag && tag.Opaque == weak.Opaque
                ? Weaken(answer)
                : answer;
    }

    private static ResponseHead Weaken(ResponseHead head) =>
        EntityTag.Parse(head[HeaderNames.ETag]) is { } tag ? head.With(new(HeaderNames.ETag, (tag with { IsWeak = true }).ToString())) : head;

    private static ResponseHead Vary(ResponseHead head) => NamesCoding(head)
        ? head
        : head.With(new(HeaderNames.Vary, StringValues.Concat(head[HeaderNames.Vary], HeaderNames.AcceptEncoding)));

    private static bool NamesCoding(ResponseHead head) =>
        VaryRule.Names(head, static name => name.Equals(HeaderNames.AcceptEncoding, StringComparison.OrdinalIgnoreCase));

    /// <summary>In lower case, without parameters; empty where there is none.</summary>
    private static string MediaTypeOf(ResponseHead head) =>
        head[HeaderNames.ContentType] is [{ } text] ? text.Split(';')[0].Trim(' ', '\t').ToLowerInvariant() : "";
}
