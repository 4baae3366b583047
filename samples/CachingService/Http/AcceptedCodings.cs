using System.Globalization;
using Microsoft.Extensions.Primitives;

namespace CachingService.Http;

/// <summary>
/// Reduces <c>Accept-Encoding</c> (RFC 9110 12.5.3) to one of few texts in a fixed order, so that clients which can read the same get the
/// same variant. <c>br</c> and <c>gzip</c> count, because nearly every client and origin has them; each further coding would double the
/// number of variants. Weights are only asked whether they are zero. Any thread.
/// </summary>
internal static class AcceptedCodings
{
    /// <summary>Nothing but <c>identity</c>; also for clients that do not say what they can read.</summary>
    public const string Identity = "identity";

    /// <summary>Not even identity, and none of the codings that count here: there is no fill to which such a client could go.</summary>
    public const string NoneKnown = "identity;q=0";

    private enum Opinion
    {
        None,
        Accepted,

        /// <summary>Once refused, refused: the order of the members must not matter, and nobody may get what it cannot read.</summary>
        Refused,
    }

    /// <summary>The text for all lines of a request's field.</summary>
    public static string Normalize(StringValues lines)
    {
        Opinion brotli = Opinion.None;
        Opinion gzip = Opinion.None;
        Opinion identity = Opinion.None;
        Opinion others = Opinion.None;
        foreach (string? line in lines)
        {
            ReadOnlySpan<char> text = line;
            foreach (Range range in text.Split(','))
            {
                ReadOnlySpan<char> member = text[range];
                int semicolon = member.IndexOf(';');
                ReadOnlySpan<char> coding = (semicolon < 0 ? member : member[..semicolon]).Trim(" \t");
                Opinion said = semicolon < 0 || IsPositive(member[(semicolon + 1)..].Trim(" \t")) ? Opinion.Accepted : Opinion.Refused;
                if (Is(coding, "br"))
                {
                    brotli = Stricter(brotli, said);
                }
                else if (Is(coding, "gzip") || Is(coding, "x-gzip"))
                {
                    gzip = Stricter(gzip, said);
                }
                else if (Is(coding, Identity))
                {
                    identity = Stricter(identity, said);
                }
                else if (coding is "*")
                {
                    others = Stricter(others, said);
                }
            }
        }

        return (IsAccepted(brotli, others), IsAccepted(gzip, others), IsRefused(identity, others)) switch
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

    private static bool Is(ReadOnlySpan<char> coding, string name) => coding.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static Opinion Stricter(Opinion one, Opinion other) => one > other ? one : other;

    private static bool IsAccepted(Opinion coding, Opinion others) =>
        coding == Opinion.Accepted || (coding == Opinion.None && others == Opinion.Accepted);

    private static bool IsRefused(Opinion identity, Opinion others) =>
        identity == Opinion.Refused || (identity == Opinion.None && others == Opinion.Refused);

    /// <summary>A weight over zero (RFC 9110 12.4.2). What is no weight may have been meant as a refusal.</summary>
    private static bool IsPositive(ReadOnlySpan<char> parameter) =>
        parameter.StartsWith("q=", StringComparison.OrdinalIgnoreCase)
        && parameter.Length is > 2 and <= 7
        && decimal.TryParse(parameter[2..], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out decimal weight)
        && weight is > 0 and <= 1;
}
