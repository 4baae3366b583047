namespace Repository.Tests;

/// <summary>One text file, by its path relative to the root, with forward slashes.</summary>
internal sealed class SourceFile(string path, string text)
{
    private readonly Lazy<CSharpText> _csharp = new(() => CSharpText.Scan(text));

    public string Path { get; } = path;

    public string Text { get; } = text;

    public bool IsCSharp => Path.EndsWith(".cs", StringComparison.Ordinal);

    /// <summary>The text without the contents of comments and literals; every line keeps its number.</summary>
    public string Code => _csharp.Value.Code;

    /// <summary>The comments only; every line keeps its number.</summary>
    public string Comments => _csharp.Value.Comments;

    /// <summary>A finding of a rule, in the form that editors jump to. <paramref name="index"/> counts characters of the text.</summary>
    public string At(int index, string finding) => $"{Path}:{1 + Text.AsSpan(0, index).Count('\n')}: {finding}";
}
