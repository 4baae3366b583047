namespace Repository.Tests;

/// <summary>
/// C# separated into code and comments. Both texts are as long as the source, with blanks where the other one (or a literal) is, so
/// that positions and line numbers agree. Holes of interpolated strings count as literal.
/// </summary>
internal sealed record CSharpText(string Code, string Comments)
{
    public static CSharpText Scan(string text)
    {
        char[] code = Blank(text);
        char[] comments = Blank(text);
        int position = 0;
        while (position < text.Length)
        {
            (int end, char[]? target) = NextPart(text, position, code, comments);
            if (target is not null)
            {
                text.CopyTo(position, target, position, end - position);
            }

            position = end;
        }

        return new CSharpText(new string(code), new string(comments));
    }

    private static char[] Blank(string text) => [.. text.Select(character => character == '\n' ? '\n' : ' ')];

    /// <summary>The end of the comment, literal or single character of code at <paramref name="start"/>, and where it belongs.</summary>
    private static (int End, char[]? Target) NextPart(string text, int start, char[] code, char[] comments)
    {
        ReadOnlySpan<char> rest = text.AsSpan(start);
        if (rest.StartsWith("//"))
        {
            return (EndOf(text, start, "\n", 0), comments);
        }

        if (rest.StartsWith("/*"))
        {
            return (EndOf(text, start + 2, "*/", 2), comments);
        }

        if (rest.StartsWith("\"\"\""))
        {
            int quotes = rest.IndexOfAnyExcept('"') is var count and >= 0 ? count : rest.Length;
            return (EndOf(text, start + quotes, new string('"', quotes), quotes), null);
        }

        if (rest.StartsWith("@\"") || rest.StartsWith("$@\"") || rest.StartsWith("@$\""))
        {
            return (EndOfVerbatim(text, text.IndexOf('"', start) + 1), null);
        }

        return rest[0] is '"' or '\'' ? (EndOfQuoted(text, start), null) : (start + 1, code);
    }

    private static int EndOf(string text, int start, string mark, int markLength) =>
        text.IndexOf(mark, start, StringComparison.Ordinal) is var index and >= 0 ? index + markLength : text.Length;

    private static int EndOfVerbatim(string text, int position)
    {
        while (position < text.Length)
        {
            if (text[position++] == '"')
            {
                if (position == text.Length || text[position] != '"')
                {
                    return position;
                }

                position++;
            }
        }

        return position;
    }

    private static int EndOfQuoted(string text, int start)
    {
        for (int position = start + 1; position < text.Length; position++)
        {
            if (text[position] == '\\')
            {
                position++;
            }
            else if (text[position] == text[start] || text[position] == '\n')
            {
                return position + 1;
            }
        }

        return text.Length;
    }
}
