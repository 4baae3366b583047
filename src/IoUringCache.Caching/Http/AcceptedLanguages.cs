using System.Buffers;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Writes <c>Accept-Language</c> (RFC 9110 12.5.4) in one way, so that clients that ask for the same languages get the same variant: without
/// white space and empty members, language tags in their usual case (RFC 5646 2.1.1), which has no meaning, and <c>q</c> in lower case. Members
/// keep their order, because many origins prefer the language that comes first. Any thread.
/// </summary>
internal static class AcceptedLanguages
{
    /// <summary>Characters of all lines. A longer field stays as it is.</summary>
    private const int MaxLength = 256;

    /// <summary>Characters of a subtag (RFC 5646 2.1).</summary>
    private const int MaxSubtagLength = 8;

    /// <summary>Characters of a weight (RFC 9110 12.4.2): <c>0.125</c>.</summary>
    private const int MaxWeightLength = 5;

    private static readonly SearchValues<char> s_subtag = SearchValues.Create("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    private static readonly SearchValues<char> s_weight = SearchValues.Create("0123456789.");

    /// <summary>The text for all lines of a request's field. A field that is no list of languages stays as it is.</summary>
    public static StringValues Normalize(StringValues lines)
    {
        Span<char> text = stackalloc char[MaxLength];
        int length = 0;
        foreach (string? line in lines)
        {
            ReadOnlySpan<char> members = line;
            foreach (Range member in members.Split(','))
            {
                if (!TryAppend(members[member].Trim(" \t"), text, ref length))
                {
                    return lines;
                }
            }
        }

        ReadOnlySpan<char> written = text[..length];
        return lines.Count == 0 || (lines.Count == 1 && written.SequenceEqual(lines[0])) ? lines : new(written.ToString());
    }

    /// <summary>Adds one member. False if there is no room for it, or if it is none.</summary>
    private static bool TryAppend(ReadOnlySpan<char> member, Span<char> text, ref int length)
    {
        if (member.IsEmpty)
        {
            return true;
        }

        int semicolon = member.IndexOf(';');
        ReadOnlySpan<char> tag = semicolon < 0 ? member : member[..semicolon].TrimEnd(" \t");
        ReadOnlySpan<char> weight = semicolon < 0 ? "" : member[(semicolon + 1)..].TrimStart(" \t");
        if (length + ",".Length + member.Length > text.Length || !IsTag(tag) || !(semicolon < 0 || IsWeight(weight)))
        {
            return false;
        }

        if (length > 0)
        {
            text[length++] = ',';
        }

        WriteTag(tag, text[length..]);
        length += tag.Length;
        if (semicolon >= 0)
        {
            weight = weight["q=".Length..];
            ";q=".CopyTo(text[length..]);
            weight.CopyTo(text[(length + ";q=".Length)..]);
            length += ";q=".Length + weight.Length;
        }

        return true;
    }

    private static bool IsTag(ReadOnlySpan<char> tag)
    {
        if (tag is "*")
        {
            return true;
        }

        foreach (Range range in tag.Split('-'))
        {
            ReadOnlySpan<char> subtag = tag[range];
            if (subtag.Length is 0 or > MaxSubtagLength || subtag.ContainsAnyExcept(s_subtag))
            {
                return false;
            }
        }

        return true;
    }

    private static bool IsWeight(ReadOnlySpan<char> parameter) =>
        parameter.StartsWith("q=", StringComparison.OrdinalIgnoreCase)
        && parameter["q=".Length..] is { Length: > 0 and <= MaxWeightLength } weight
        && !weight.ContainsAnyExcept(s_weight);

    /// <summary>
    /// Lower case, but regions (two letters) in upper case and scripts (four) with a capital, unless they come first or after a singleton.
    /// </summary>
    private static void WriteTag(ReadOnlySpan<char> tag, Span<char> text)
    {
        tag.ToLowerInvariant(text);
        bool isPlain = true;
        foreach (Range range in tag.Split('-'))
        {
            (int start, int count) = range.GetOffsetAndLength(tag.Length);
            int capitals = isPlain ? 0 : count switch { 2 => 2, 4 => 1, _ => 0 };
            tag.Slice(start, capitals).ToUpperInvariant(text[start..]);
            isPlain = (isPlain && start > 0) || count == 1;
        }
    }
}
