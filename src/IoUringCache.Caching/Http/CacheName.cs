namespace IoUringCache.Caching.Http;

/// <summary>
/// What a cache calls itself in <c>Cache-Status</c> (RFC 9211 2) and <c>Via</c> (RFC 9110 7.6.3): a token of both, so it begins with a letter.
/// Any thread.
/// </summary>
internal static class CacheName
{
    private const int MaxLength = 100;

    public static bool Is(string text) => text.Length is > 0 and <= MaxLength && char.IsAsciiLetter(text[0]) && TokenText.Is(text);

    /// <summary>That of an application's cache, as far as its own name can be one.</summary>
    public static string Of(string applicationName)
    {
        string name = string.Concat(applicationName.Take(MaxLength).Select(static character => TokenText.Is([character]) ? character : '-'));
        return Is(name) ? name : "StreamingCache";
    }
}
