using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// How the forms of a response that is compressed here differ: by the first of some codings that a client can read, and by nothing else of
/// <c>Accept-Encoding</c>. So there is one variant for each coding, and origins are not asked for codings that only the cache can make. The list is a
/// field of the stored head, under a name that no response can have; a fetch of a route that compresses holds what its client accepts by
/// that name, and does not send it. Any thread.
/// </summary>
internal static class CodingChoice
{
    public const string FieldName = ":codings";

    /// <summary>Second value of the field where the origin names <c>Accept-Encoding</c> in <c>Vary</c>, and so has forms of its own.</summary>
    private const string OfOriginToo = "origin";

    private const string Brotli = "br";
    private const string Gzip = "gzip";
    private const string Zstandard = "zstd";

    /// <summary>A coding that can be made here; <see langword="null"/> for other names.</summary>
    public static ContentCoding? CodingOf(ReadOnlySpan<char> name) => name switch
    {
        Brotli => ContentCoding.Brotli,
        Gzip => ContentCoding.Gzip,
        Zstandard => ContentCoding.Zstandard,
        _ => null,
    };

    /// <summary>As Content-Encoding has it.</summary>
    public static string NameOf(ContentCoding coding) => coding switch
    {
        ContentCoding.Brotli => Brotli,
        ContentCoding.Gzip => Gzip,
        ContentCoding.Zstandard => Zstandard,
        _ => CodingWeights.IdentityCoding,
    };

    /// <summary>The field for a head.</summary>
    /// <param name="list">Names with spaces between them, the preferred one first.</param>
    public static HeaderField Mark(string list, bool isOfOriginToo) => new(FieldName, isOfOriginToo ? new StringValues([list, OfOriginToo]) : list);

    /// <summary>The list of a stored head; <see langword="null"/> where nothing is compressed here.</summary>
    public static string? ListOf(ResponseHead head) => head[FieldName] is [{ } list, ..] ? list : null;

    /// <summary>Whether the origin has forms of its own of a response that has a list.</summary>
    public static bool IsOfOriginToo(ResponseHead head) => head[FieldName].Count > 1;

    /// <summary>Whether the bytes of a stored response are in a coding by which it was compressed here.</summary>
    public static bool IsMadeHere(ResponseHead head) => ListOf(head) is not null && head[HeaderNames.ContentEncoding].Count > 0;

    /// <summary>What a fetch holds for <see cref="Of"/>.</summary>
    public static StringValues AcceptedBy(IReadOnlyList<HeaderField> sent) => sent.FirstOrDefault(static field => field.Name == FieldName).Values;

    /// <summary>The coding for a client.</summary>
    /// <param name="accepted">All lines of <c>Accept-Encoding</c>.</param>
    public static ContentCoding Of(ReadOnlySpan<char> list, StringValues accepted) => FirstOf(list, CodingWeights.Parse(accepted));

    /// <summary>The same as a text to be compared. A client that can read none of them and refuses the plain form gets what its own request brings.</summary>
    /// <param name="accepted">All lines of <c>Accept-Encoding</c>.</param>
    public static string TextOf(ReadOnlySpan<char> list, StringValues accepted)
    {
        CodingWeights weights = CodingWeights.Parse(accepted);
        ContentCoding coding = FirstOf(list, weights);
        return coding == ContentCoding.Identity && weights.Identity == 0 ? AcceptedCodings.NoneKnown : NameOf(coding);
    }

    private static ContentCoding FirstOf(ReadOnlySpan<char> list, CodingWeights weights)
    {
        foreach (Range name in list.Split(' '))
        {
            ContentCoding coding = CodingOf(list[name]) ?? ContentCoding.Identity;
            int weight = coding switch
            {
                ContentCoding.Brotli => weights.Brotli,
                ContentCoding.Gzip => weights.Gzip,
                ContentCoding.Zstandard => weights.Zstandard,
                _ => 0,
            };
            if (weight > 0)
            {
                return coding;
            }
        }

        return ContentCoding.Identity;
    }
}

/// <summary>A form of the same content: as it is, or encoded (RFC 9110 8.4.1).</summary>
internal enum ContentCoding
{
    Identity,
    Brotli,
    Gzip,
    Zstandard,
}
