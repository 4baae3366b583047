namespace IoUringCache.Caching.Http;

/// <summary>Quoted strings in fields (RFC 9110 5.6.4). Any thread.</summary>
internal static class QuotedText
{
    /// <summary>Length of the quoted string at the start of a text, with both quotes; 1 where the second one is missing.</summary>
    /// <param name="text">Begins with a quote.</param>
    public static int LengthOf(ReadOnlySpan<char> text)
    {
        for (int index = 1; index < text.Length; index++)
        {
            switch (text[index])
            {
                case '"':
                    return index + 1;
                case '\\':
                    index++;
                    break;
            }
        }

        return 1;
    }
}
