using System.Buffers;

namespace IoUringCache.Caching.Http;

/// <summary>What names of fields and directives are made of (RFC 9110 5.6.2). Any thread.</summary>
internal static class TokenText
{
    private static readonly SearchValues<char> s_characters =
        SearchValues.Create("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    /// <summary>Whether a text holds nothing else; an empty one does.</summary>
    public static bool Is(ReadOnlySpan<char> text) => !text.ContainsAnyExcept(s_characters);

    /// <summary>Length of the token at the start of a text; 0 where none begins there.</summary>
    public static int LengthOf(ReadOnlySpan<char> text) => text.IndexOfAnyExcept(s_characters) is var end and >= 0 ? end : text.Length;
}
