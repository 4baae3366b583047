namespace CachingService.Files;

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
    /// <param name="name">Relative to the directory. Bytes, as Linux has them: not necessarily UTF-8.</param>
    public static bool TryDecode(ReadOnlySpan<char> key, out byte[] name)
    {
        int query = key.IndexOf('?');
        ReadOnlySpan<char> path = query < 0 ? key : key[..query];
        byte[] bytes = new byte[path.Length];
        int length = 0;
        for (int index = 0; index < path.Length; index++)
        {
            bool isEscape = path[index] == '%';
            bytes[length] = isEscape ? Convert.FromHexString(path.Slice(index + 1, 2))[0] : (byte)path[index];
            if (isEscape && bytes[length] == '/')
            {
                name = [];
                return false;
            }

            index += isEscape ? 2 : 0;
            length++;
        }

        name = bytes[..length];
        return HasOnlyServedSegments(name);
    }

    private static bool HasOnlyServedSegments(ReadOnlySpan<byte> name)
    {
        foreach (Range segment in name.Split((byte)'/'))
        {
            if (name[segment] is [] or [(byte)'.', ..])
            {
                return false;
            }
        }

        return true;
    }
}
