using System.Globalization;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// How much a client wants each content coding that counts here (RFC 9110 12.5.3), in thousandths: 0, it cannot read it, to 1000. Immutable.
/// </summary>
/// <param name="Brotli"><c>br</c>.</param>
/// <param name="Gzip"><c>gzip</c>, also as <c>x-gzip</c>.</param>
/// <param name="Zstandard"><c>zstd</c>.</param>
/// <param name="Identity">No coding: wanted least, but not refused, by a client that does not say.</param>
internal readonly record struct CodingWeights(int Brotli, int Gzip, int Zstandard, int Identity)
{
    /// <summary>The name of none.</summary>
    public const string IdentityCoding = "identity";

    private const int Full = 1000;
    private const int Least = 1;

    /// <summary>Reads all lines of a request's field. A coding that is refused by any member, or has no readable weight, is refused.</summary>
    public static CodingWeights Parse(StringValues lines)
    {
        int? brotli = null;
        int? gzip = null;
        int? zstandard = null;
        int? identity = null;
        int? others = null;
        foreach (string? line in lines)
        {
            ReadOnlySpan<char> text = line;
            foreach (Range range in text.Split(','))
            {
                ReadOnlySpan<char> member = text[range];
                int semicolon = member.IndexOf(';');
                ReadOnlySpan<char> coding = (semicolon < 0 ? member : member[..semicolon]).Trim(" \t");
                int weight = semicolon < 0 ? Full : ParseWeight(member[(semicolon + 1)..].Trim(" \t"));
                if (Is(coding, "br"))
                {
                    brotli = Stricter(brotli, weight);
                }
                else if (Is(coding, "gzip") || Is(coding, "x-gzip"))
                {
                    gzip = Stricter(gzip, weight);
                }
                else if (Is(coding, "zstd"))
                {
                    zstandard = Stricter(zstandard, weight);
                }
                else if (Is(coding, IdentityCoding))
                {
                    identity = Stricter(identity, weight);
                }
                else if (coding is "*")
                {
                    others = Stricter(others, weight);
                }
            }
        }

        return new(brotli ?? others ?? 0, gzip ?? others ?? 0, zstandard ?? others ?? 0, identity ?? others ?? Least);
    }

    private static bool Is(ReadOnlySpan<char> coding, string name) => coding.Equals(name, StringComparison.OrdinalIgnoreCase);

    /// <summary>The order of the members must not matter, and nobody may get what it cannot read.</summary>
    private static int Stricter(int? one, int other) => Math.Min(one ?? other, other);

    /// <summary>RFC 9110 12.4.2. What is no weight may have been meant as a refusal.</summary>
    private static int ParseWeight(ReadOnlySpan<char> parameter) =>
        parameter.StartsWith("q=", StringComparison.OrdinalIgnoreCase)
        && parameter.Length is > 2 and <= 7
        && decimal.TryParse(parameter[2..], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out decimal weight)
        && weight is >= 0 and <= 1
            ? (int)(weight * Full)
            : 0;
}
