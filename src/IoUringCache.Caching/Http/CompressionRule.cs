using System.Collections.Frozen;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Which responses of a route are compressed here, and how (RFC 9110 8.4): a variant for each coding, with weak tags, because the bytes are not those
/// that the origin promised. Immutable; any thread.
/// </summary>
/// <param name="codings">Names in the order in which they are preferred; none: nothing is compressed.</param>
/// <param name="types">Media types in lower case.</param>
/// <param name="minBytes">Of a body whose length is known.</param>
internal sealed class CompressionRule(IReadOnlyList<string> codings, NameList types, long minBytes)
{
    private readonly string _list = string.Join(' ', codings);

    /// <summary>What a response says of the bytes that the origin has sent, and a compressed one cannot (RFC 9530, RFC 3230).</summary>
    private static readonly FrozenSet<string> s_digests = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase, HeaderNames.ContentMD5, "Content-Digest", "Repr-Digest", "Digest");

    public bool IsOn => codings.Count > 0;

    /// <summary>Whether a response differs by what clients can read, because it is compressed for those who can.</summary>
    public bool Covers(ResponseHead head) =>
        IsOn
        && head.StatusCode == StatusCodes.Status200OK
        && !(head.ContentLength < minBytes)
        && head[HeaderNames.ContentEncoding].Count == 0
        && types.Contains(MediaTypeOf(head))
        && !IsToStay(head);

    /// <summary>What it is compressed by for a request.</summary>
    public ContentCoding Choose(IReadOnlyList<HeaderField> sent) => !IsOn ? ContentCoding.Identity : CodingChoice.Of(_list, CodingChoice.AcceptedBy(sent));

    /// <summary>The head of the variant.</summary>
    /// <param name="head">One that is covered.</param>
    /// <param name="coding">What <see cref="Choose"/> has chosen.</param>
    public ResponseHead Encode(ResponseHead head, ContentCoding coding)
    {
        ResponseHead marked = Vary(head).With(CodingChoice.Mark(_list, isOfOriginToo: CodingChoice.ListOf(head) is null ? NamesCoding(head) : CodingChoice.IsOfOriginToo(head)));
        return coding == ContentCoding.Identity ? marked : new(
            head.StatusCode,
            [.. Weaken(marked).Fields.Where(static field => !s_digests.Contains(field.Name)), new(HeaderNames.ContentEncoding, CodingChoice.NameOf(coding))],
            contentLength: null);
    }

    /// <summary>What a 304 of the origin, which knows no variants, says of the one that is stored.</summary>
    public ResponseHead Confirm(ResponseHead stored, ResponseHead answer)
    {
        if (IsOn && answer[HeaderNames.Vary].Count > 0 && NamesCoding(stored))
        {
            answer = Vary(answer);
        }

        if (CodingChoice.IsMadeHere(stored))
        {
            answer = answer.Without(s_digests);
        }

        return IsOn
            && stored[HeaderNames.ContentEncoding].Count > 0
            && EntityTag.Parse(stored[HeaderNames.ETag]) is { IsWeak: true } weak
            && EntityTag.Parse(answer[HeaderNames.ETag]) is { } tag && tag.Opaque == weak.Opaque
                ? Weaken(answer)
                : answer;
    }

    /// <summary>Whether a 304 asks for the content as the origin has it (RFC 9111 5.2.2.6), and what is stored was compressed here.</summary>
    public static bool IsOver(ResponseHead stored, ResponseHead answer) => CodingChoice.IsMadeHere(stored) && IsToStay(answer);

    private static bool IsToStay(ResponseHead head) =>
        CacheControl.Parse(head[HeaderNames.CacheControl]).NoTransform || CacheControl.Parse(head[SharingRules.TargetedField]).NoTransform;

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
