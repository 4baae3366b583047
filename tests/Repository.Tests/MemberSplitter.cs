namespace Repository.Tests;

/// <summary>
/// Cuts a C# file into the members of its type by the layout that the formatter enforces: one type per file, members indented by four
/// blanks. The comments and attributes directly above a member belong to it.
/// </summary>
internal static class MemberSplitter
{
    private const int MemberIndent = 4;

    public static IEnumerable<Member> Split(SourceFile file)
    {
        string[] code = file.Code.Split('\n');
        string[] comments = file.Comments.Split('\n');
        int start = -1;
        for (int line = 0; line < code.Length; line++)
        {
            if (!IsMemberStart(code[line]))
            {
                continue;
            }

            if (start >= 0)
            {
                yield return Cut(code, comments, start, line);
            }

            start = line;
        }

        if (start >= 0)
        {
            yield return Cut(code, comments, start, code.Length);
        }
    }

    /// <summary>The comments directly above the type's declaration, the first line that is not indented and names a class or struct.</summary>
    public static string CommentsAboveType(SourceFile file)
    {
        string[] code = file.Code.Split('\n');
        string[] comments = file.Comments.Split('\n');
        int line = Array.FindIndex(code, IsTypeStart);
        return line < 0 ? "" : string.Join('\n', comments[LeadingStart(code, comments, line)..line]);
    }

    private static bool IsTypeStart(string line) =>
        line.Length > 0 && char.IsLetter(line[0]) && line.Split(' ').Any(word => word is "class" or "struct");

    private static bool IsMemberStart(string line) =>
        line.Length > MemberIndent && line.AsSpan(0, MemberIndent).IsWhiteSpace() && (char.IsLetter(line[MemberIndent]) || line[MemberIndent] == '~');

    /// <summary>From the member's first line to the line before the next one's, without what belongs to that.</summary>
    private static Member Cut(string[] code, string[] comments, int start, int next)
    {
        int first = LeadingStart(code, comments, start);
        int end = next == code.Length ? next : LeadingStart(code, comments, next);
        return new Member(start + 1, string.Join('\n', code[start..end]), string.Join('\n', comments[first..end]));
    }

    private static int LeadingStart(string[] code, string[] comments, int line)
    {
        while (line > 0 && IsLeading(code[line - 1], comments[line - 1]))
        {
            line--;
        }

        return line;
    }

    private static bool IsLeading(string code, string comment) =>
        string.IsNullOrWhiteSpace(code) ? !string.IsNullOrWhiteSpace(comment) : code.AsSpan().Trim().StartsWith("[");
}
