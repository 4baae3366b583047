namespace IoUringCache.Caching.Http;

/// <summary>
/// Reads the request target as it came over the wire. The decoded path of the framework cannot tell <c>%2F</c> from <c>%252F</c> and has
/// its dot segments removed, so neither the key nor the origin's URL may be made from it. Any thread.
/// </summary>
internal static class RequestTarget
{
    /// <summary>Longest target, in bytes.</summary>
    public const int MaxLength = 8192;

    /// <summary>
    /// Checks a target and reduces the absolute form to path and query. Malformed: a byte outside 0x21-0x7E, a backslash, a fragment,
    /// an escape that is none, <c>%00</c>, a <c>.</c> or <c>..</c> segment, also one with parameters as in <c>..;x</c> (with <c>%2e</c> read
    /// as a dot, <c>%3b</c> as a semicolon, and <c>%2f</c> and <c>%5c</c> as separators: an origin might read them so).
    /// </summary>
    public static TargetVerdict Check(string rawTarget, out string pathAndQuery)
    {
        pathAndQuery = rawTarget;
        if (rawTarget.Length > MaxLength)
        {
            return TargetVerdict.TooLong;
        }

        if (!rawTarget.StartsWith('/') && !TryReduceAbsoluteForm(rawTarget, out pathAndQuery))
        {
            return TargetVerdict.Malformed;
        }

        int query = pathAndQuery.IndexOf('?');
        ReadOnlySpan<char> path = query < 0 ? pathAndQuery : pathAndQuery.AsSpan(0, query);
        return HasOnlyLegalBytes(pathAndQuery) && !HasDotSegment(path) ? TargetVerdict.Valid : TargetVerdict.Malformed;
    }

    private static bool TryReduceAbsoluteForm(string rawTarget, out string pathAndQuery)
    {
        pathAndQuery = rawTarget;
        int scheme = rawTarget.IndexOf("://", StringComparison.Ordinal);
        if (scheme <= 0)
        {
            return false;
        }

        int path = rawTarget.AsSpan(scheme + 3).IndexOfAny('/', '?');
        pathAndQuery = path < 0 ? "/" : rawTarget[(scheme + 3 + path)..];
        if (pathAndQuery[0] == '?')
        {
            pathAndQuery = "/" + pathAndQuery;
        }

        return true;
    }

    private static bool HasOnlyLegalBytes(ReadOnlySpan<char> target)
    {
        for (int index = 0; index < target.Length; index++)
        {
            switch (target[index])
            {
                case < '!' or > '~' or '\\' or '#':
                    return false;
                case '%' when DecodeEscape(target[index..]) is < 0 or 0:
                    return false;
            }
        }

        return true;
    }

    private static bool HasDotSegment(ReadOnlySpan<char> path)
    {
        // Of the segment so far, up to its parameters: servlet containers take those off before they resolve dots.
        (int length, int dots, bool hasParameters) = (0, 0, false);
        for (int index = 0; index < path.Length; index++)
        {
            int value = (int)path[index];
            if (value == '%')
            {
                value = DecodeEscape(path[index..]);
                index += 2;
            }

            if (value is '/' or '\\')
            {
                if (IsDotSegment(length, dots))
                {
                    return true;
                }

                (length, dots, hasParameters) = (0, 0, false);
                continue;
            }

            hasParameters |= value == ';';
            length += hasParameters ? 0 : 1;
            dots += !hasParameters && value == '.' ? 1 : 0;
        }

        return IsDotSegment(length, dots);
    }

    private static bool IsDotSegment(int length, int dots) => length is 1 or 2 && dots == length;

    /// <summary>The byte that <c>%XX</c> at the start of the text stands for, or -1.</summary>
    private static int DecodeEscape(ReadOnlySpan<char> text) =>
        text.Length >= 3 && char.IsAsciiHexDigit(text[1]) && char.IsAsciiHexDigit(text[2])
            ? Convert.FromHexString(text.Slice(1, 2))[0]
            : -1;
}

/// <summary>What a request target is worth.</summary>
internal enum TargetVerdict
{
    Valid,

    /// <summary>Answered 400.</summary>
    Malformed,

    /// <summary>Answered 414.</summary>
    TooLong,
}
