namespace IoUringCache.Caching.Http;

/// <summary>
/// The prefixes of a key, by which it can be purged with others: what it has up to each slash of its path. The slashes of a scheme do not
/// count; a query, and what a key has of cookies and fields, are in none. Stateless; any thread.
/// <code>
///   www.a.com/news/2026/x?y=/z     www.a.com/    www.a.com/news/    www.a.com/news/2026/
///   https://www.a.com/x            https://www.a.com/
///   /news/x                        /             /news/
///   img/a.png                      img/
/// </code>
/// </summary>
internal static class KeyPrefixes
{
    /// <summary>Most prefixes of a key, since a client makes up keys as it likes: those of deeper directories are left out.</summary>
    public const int MaxLevels = 8;

    /// <summary>Longest prefix: longer ones are left out too.</summary>
    public const int MaxLength = 256;

    /// <summary>Between what a key has of cookies and fields, each a line, and its target. No field and no target has a line end.</summary>
    public const string EndOfParts = "\n ";

    /// <summary>What is wrong with a text that is no prefix.</summary>
    public static readonly string Expected =
        $"expected the first bytes of keys, with a slash at the end, at most {MaxLevels} slashes and {MaxLength} characters, such as shop.example/news/";

    /// <summary>A key without what it has of cookies and fields.</summary>
    public static ReadOnlySpan<char> TargetOf(ReadOnlySpan<char> key) =>
        key.LastIndexOf(EndOfParts) is >= 0 and var end ? key[(end + EndOfParts.Length)..] : key;

    /// <summary>The longest prefix of a key; empty if it has none.</summary>
    public static ReadOnlySpan<char> LongestOf(ReadOnlySpan<char> key)
    {
        ReadOnlySpan<char> path = TargetOf(key);
        path = path.IndexOf('?') is >= 0 and var query ? path[..query] : path;
        path = path.Length > MaxLength ? path[..MaxLength] : path;
        (int end, int from) = (0, SchemeLengthOf(path));
        for (int level = 0; level < MaxLevels && path[from..].IndexOf('/') is >= 0 and var length; level++)
        {
            end = from += length + 1;
        }

        return path[..end];
    }

    /// <summary>The next shorter prefix of all keys that have this one; empty if there is none.</summary>
    public static ReadOnlySpan<char> OuterOf(ReadOnlySpan<char> prefix)
    {
        int slash = prefix[..^1].LastIndexOf('/');
        return slash < SchemeLengthOf(prefix) ? [] : prefix[..(slash + 1)];
    }

    /// <summary>Whether a text is a prefix that a key can have.</summary>
    public static bool IsPrefix(string text) => text.Length > 0 && LongestOf(text).Length == text.Length;

    /// <param name="prefix">One that <see cref="IsPrefix"/> finds right.</param>
    public static bool IsBelow(string key, string prefix) => TargetOf(key).StartsWith(prefix, StringComparison.Ordinal);

    /// <summary>A prefix without scheme and host.</summary>
    /// <param name="prefix">One that <see cref="IsPrefix"/> finds right.</param>
    public static string PathOf(string prefix)
    {
        int scheme = SchemeLengthOf(prefix);
        return prefix[prefix.IndexOf('/', scheme)..];
    }

    private static int SchemeLengthOf(ReadOnlySpan<char> target) =>
        target.StartsWith("http://", StringComparison.Ordinal) ? "http://".Length
        : target.StartsWith("https://", StringComparison.Ordinal) ? "https://".Length
        : 0;
}
