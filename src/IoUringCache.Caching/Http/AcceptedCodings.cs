using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Reduces <c>Accept-Encoding</c> (RFC 9110 12.5.3) to one of few texts in a fixed order, so that clients which can read the same get the
/// same variant. <c>br</c> and <c>gzip</c> count, because nearly every client and origin has them; each further coding would double the
/// number of variants. What is compressed here differs by <see cref="CodingChoice"/>. Weights are only asked whether they are zero. Any thread.
/// </summary>
internal static class AcceptedCodings
{
    /// <summary>Nothing but <c>identity</c>; also for clients that do not say what they can read.</summary>
    public const string Identity = CodingWeights.IdentityCoding;

    /// <summary>Not even identity, and none of the codings that count here: there is no fill to which such a client could go.</summary>
    public const string NoneKnown = "identity;q=0";

    /// <summary>The text for all lines of a request's field.</summary>
    public static string Normalize(StringValues lines)
    {
        CodingWeights weights = CodingWeights.Parse(lines);
        return (weights.Brotli > 0, weights.Gzip > 0, weights.Identity == 0) switch
        {
            (true, true, false) => "br, gzip",
            (true, false, false) => "br",
            (false, true, false) => "gzip",
            (false, false, false) => Identity,
            (true, true, true) => "br, gzip, identity;q=0",
            (true, false, true) => "br, identity;q=0",
            (false, true, true) => "gzip, identity;q=0",
            (false, false, true) => NoneKnown,
        };
    }
}
