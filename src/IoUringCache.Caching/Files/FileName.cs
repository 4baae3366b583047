namespace IoUringCache.Caching.Files;

/// <summary>
/// What a key means as the name of a file: its bytes up to the query, percent-decoded once. It decides which names are served at all; that
/// none of them leads out of the directory is not decided here, but by the kernel when it opens them. Any thread.
/// </summary>
internal static class FileName
{
    /// <summary>
    /// False for what names no file that is served: an empty segment (a slash at either end too), a segment that begins with a dot, and an
    /// escaped slash, which would make two keys of one file that a cache behind us takes for different ones, or the same.
    /// </summary>
    /// <param name="key">Has passed the gate: every escape is one, and none is NUL.</param>
    /// <param name="name">
    /// Relative to the directory, a character for each byte: Linux has bytes, which are not necessarily UTF-8. The key itself if nothing is to
    /// be decoded.
    /// </param>
    public static bool TryDecode(string key, out string name)
    {
        int query = key.IndexOf('?');
        name = query < 0 ? key : key[..query];
        return (!name.Contains('%') || TryUnescape(ref name)) && HasOnlyServedSegments(name);
    }

    private static bool TryUnescape(ref string name)
    {
        Span<char> text = new char[name.Length];
        int length = 0;
        for (int index = 0; index < name.Length; index++)
        {
            bool isEscape = name[index] == '%';
            text[length] = isEscape ? (char)Convert.FromHexString(name.AsSpan(index + 1, 2))[0] : name[index];
            if (isEscape && text[length] == '/')
            {
                return false;
            }

            index += isEscape ? 2 : 0;
            length++;
        }

        name = text[..length].ToString();
        return true;
    }

    private static bool HasOnlyServedSegments(ReadOnlySpan<char> name)
    {
        foreach (Range segment in name.Split('/'))
        {
            if (name[segment] is [] or ['.', ..])
            {
                return false;
            }
        }

        return true;
    }
}
