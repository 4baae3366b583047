namespace Repository.Tests;

/// <summary>The files of the repository that this test run was built from, without what builds and tools leave behind.</summary>
internal static class SourceTree
{
    private static readonly string[] s_generatedFolders =
        [".git", ".vs", ".idea", "bin", "obj", "artifacts", "TestResults", "BenchmarkDotNet.Artifacts", "__pycache__"];

    private static readonly string[] s_textExtensions =
        [".cs", ".csproj", ".props", ".targets", ".sln", ".json", ".md", ".sh", ".py", ".lua", ".conf", ".yml", ".txt", ".editorconfig", ""];

    /// <summary>The folder that holds the solution: the nearest one above the test assembly.</summary>
    public static string Root { get; } = FindRoot();

    /// <summary>All text files.</summary>
    public static IReadOnlyList<SourceFile> Files { get; } = ReadFiles();

    /// <summary>The C# sources below <paramref name="folder"/>, e.g. <c>src/</c>; all by default.</summary>
    public static IEnumerable<SourceFile> CSharp(string folder = "") =>
        Files.Where(file => file.IsCSharp && file.Path.StartsWith(folder, StringComparison.Ordinal));

    private static string FindRoot()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "IoUringCache.sln")))
        {
            folder = folder.Parent;
        }

        return folder?.FullName ?? throw new InvalidOperationException($"no IoUringCache.sln above {AppContext.BaseDirectory}");
    }

    private static SourceFile[] ReadFiles() =>
    [
        .. Directory.EnumerateFiles(Root, "*", SearchOption.AllDirectories)
            .Select(path => Path.GetRelativePath(Root, path))
            .Where(path => !path.Split('/').Any(s_generatedFolders.Contains) && s_textExtensions.Contains(Path.GetExtension(path)))
            .Order(StringComparer.Ordinal)
            .Select(path => new SourceFile(path, File.ReadAllText(Path.Combine(Root, path)))),
    ];
}
