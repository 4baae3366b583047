using System.Buffers;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>An entity tag (RFC 9110 8.8.3). Immutable.</summary>
/// <param name="Opaque">What stands between the quotes.</param>
/// <param name="IsWeak">Whether <c>W/</c> stands before them.</param>
internal readonly record struct EntityTag(string Opaque, bool IsWeak)
{
    /// <summary>What may not stand between the quotes. A backslash may, and escapes nothing.</summary>
    private static readonly SearchValues<char> s_notOpaque =
        SearchValues.Create([.. Enumerable.Range(0, 0x21).Select(code => (char)code), '"', '\u007f']);

    /// <summary>The one tag of a field; <see langword="null"/> where it is absent, malformed or not the only one.</summary>
    public static EntityTag? Parse(StringValues lines)
    {
        ReadOnlySpan<char> rest = lines.Count == 1 ? lines[0].AsSpan().Trim(" \t") : default;
        return Take(ref rest) is { } tag && rest.IsEmpty ? tag : null;
    }

    /// <summary>
    /// Whether a list of tags has one with this opaque part, weak or not (RFC 9110 8.8.3.2). It is read as far as it is well formed.
    /// </summary>
    public bool IsWeaklyIn(StringValues lines)
    {
        string opaque = Opaque;
        return IsIn(lines, tag => tag.Opaque == opaque);
    }

    /// <summary>Whether a list of tags, as far as it is well formed, has one that <see cref="StronglyEquals"/> this.</summary>
    public bool IsStronglyIn(StringValues lines) => IsIn(lines, StronglyEquals);

    /// <summary>Whether two tags promise the same bytes (RFC 9110 8.8.3.2).</summary>
    public bool StronglyEquals(EntityTag other) => !IsWeak && !other.IsWeak && Opaque == other.Opaque;

    /// <summary>As it stands in a field.</summary>
    public override string ToString() => $"{(IsWeak ? "W/" : "")}\"{Opaque}\"";

    private static bool IsIn(StringValues lines, Func<EntityTag, bool> isThat)
    {
        foreach (string? line in lines)
        {
            ReadOnlySpan<char> rest = line.AsSpan().Trim(", \t");
            while (!rest.IsEmpty)
            {
                if (Take(ref rest) is not { } tag)
                {
                    return false;
                }

                rest = rest.TrimStart(" \t");
                if (!rest.IsEmpty && rest[0] != ',')
                {
                    return false;
                }

                if (isThat(tag))
                {
                    return true;
                }

                rest = rest.TrimStart(", \t");
            }
        }

        return false;
    }

    /// <summary>Cuts a tag off the start of the text.</summary>
    private static EntityTag? Take(ref ReadOnlySpan<char> text)
    {
        bool isWeak = text.StartsWith("W/", StringComparison.Ordinal);
        ReadOnlySpan<char> quoted = isWeak ? text[2..] : text;
        if (quoted.IsEmpty || quoted[0] != '"')
        {
            return null;
        }

        int end = quoted[1..].IndexOfAny(s_notOpaque) + 1;
        if (end == 0 || quoted[end] != '"')
        {
            return null;
        }

        text = quoted[(end + 1)..];
        return new(quoted[1..end].ToString(), isWeak);
    }
}
