using System.Text.RegularExpressions;

namespace Repository.Tests;

/// <summary>Rules about single lines and files, wherever they are.</summary>
public sealed partial class SourceTextTests
{
    private const string NativeImportFile = "src/IoUringCache.Ring/Native/Libc.cs";

    /// <summary>What a benchmark compares with, and the product has no use for.</summary>
    private const string ComparedImportFile = "benchmarks/IoUringCache.RandomRead/SeekingReads.cs";
    private const int MaximumLines = 400;

    [Fact]
    public void Sources_UnfinishedWork_IsNotThere() => Findings.AssertNone(SourceTree.Files.SelectMany(FindUnfinishedWork));

    [Fact]
    public void Tests_Waiting_NeverIsASleep() => Findings.AssertNone(SourceTree.CSharp("tests/").SelectMany(FindSleeps));

    [Fact]
    public void Sources_NativeImports_AreInOneFile() => Findings.AssertNone(SourceTree.CSharp().SelectMany(FindStrayImports));

    [Fact]
    public void Sources_Length_IsReadable() => Findings.AssertNone(SourceTree.CSharp().SelectMany(FindLongFiles));

    [Fact]
    public void Repository_MachinePaths_AreNotThere() => Findings.AssertNone(SourceTree.Files.SelectMany(FindMachinePaths));

    [Theory]
    [InlineData("a.cs", "int a;\n// TODO: later")]
    [InlineData("a.cs", "int a;\nthrow new NotImplementedException();")]
    [InlineData("a.sh", "true\n# FIXME")]
    [InlineData("a.py", "pass\nx = 1  # HACK around it")]
    public void UnfinishedWorkRule_BadFile_IsFound(string path, string text) =>
        Findings.AssertOne(FindUnfinishedWork(new SourceFile(path, text)), path, 2);

    [Theory]
    [InlineData("Thread.Sleep(10);")]
    [InlineData("await Task.Delay(TimeSpan.FromSeconds(1));")]
    public void SleepRule_BadFile_IsFound(string statement) =>
        Findings.AssertOne(FindSleeps(new SourceFile("tests/a.cs", $"// Thread.Sleep is for others\n{statement}")), "tests/a.cs", 2);

    [Theory]
    [InlineData("[LibraryImport(\"libc\")]")]
    [InlineData("[DllImport(\"libc\")]")]
    public void ImportRule_BadFile_IsFound(string attribute) =>
        Findings.AssertOne(FindStrayImports(new SourceFile("src/a.cs", $"class A\n{{\n    {attribute}\n}}")), "src/a.cs", 3);

    [Theory]
    [InlineData(MaximumLines, 0)]
    [InlineData(MaximumLines + 1, 1)]
    public void LengthRule_AtTheLimit_IsExact(int lines, int findings) =>
        Assert.Equal(findings, FindLongFiles(new SourceFile("a.cs", string.Concat(Enumerable.Repeat("//\n", lines)))).Count());

    [Theory]
    [InlineData("home")]
    [InlineData("tmp")]
    [InlineData("Users")]
    public void MachinePathRule_BadFile_IsFound(string folder) =>
        Findings.AssertOne(FindMachinePaths(new SourceFile("a.md", $"text\nsee `/{folder}/someone/notes.md`")), "a.md", 2);

    [Fact]
    public void MachinePathRule_RelativePathOrUrl_IsNotFound() =>
        Findings.AssertNone(FindMachinePaths(new SourceFile("a.md", "docs/home/x, http://host/tmp/x, ./work/x, GET /object/home/x")));

    /// <summary>Marks in comments of code; prose about such marks, in Markdown, is not one.</summary>
    private static IEnumerable<string> FindUnfinishedWork(SourceFile file)
    {
        if (file.IsCSharp)
        {
            return UnfinishedMark().Matches(file.Comments).Concat(UnfinishedCode().Matches(file.Code))
                .Select(match => file.At(match.Index, $"{match.Value}: open points belong in an issue"));
        }

        return file.Path.EndsWith(".md", StringComparison.Ordinal)
            ? []
            : UnfinishedMark().Matches(file.Text).Select(match => file.At(match.Index, $"{match.Value}: open points belong in an issue"));
    }

    private static IEnumerable<string> FindSleeps(SourceFile file) =>
        Sleep().Matches(file.Code).Select(match => file.At(match.Index, $"{match.Value}: wait for the event, with a time-out"));

    private static IEnumerable<string> FindStrayImports(SourceFile file) =>
        file.Path is NativeImportFile or ComparedImportFile
            ? []
            : NativeImport().Matches(file.Code).Select(match => file.At(match.Index, $"native imports belong in {NativeImportFile}"));

    private static IEnumerable<string> FindLongFiles(SourceFile file)
    {
        int lines = file.Text.AsSpan().Count('\n');
        return lines > MaximumLines ? [$"{file.Path}: {lines} lines; at most {MaximumLines}"] : [];
    }

    private static IEnumerable<string> FindMachinePaths(SourceFile file) =>
        MachinePath().Matches(file.Text).Select(match => file.At(match.Index, $"{match.Value}: a path of one machine"));

    [GeneratedRegex(@"\b(TODO|FIXME|HACK|XXX)\b")]
    private static partial Regex UnfinishedMark();

    [GeneratedRegex(@"\bNotImplementedException\b")]
    private static partial Regex UnfinishedCode();

    [GeneratedRegex(@"\b(Thread\.Sleep|Task\.Delay)\b")]
    private static partial Regex Sleep();

    [GeneratedRegex(@"\[\s*(LibraryImport|DllImport)\b")]
    private static partial Regex NativeImport();

    [GeneratedRegex(@"(?<![\w.:/~}-])/(home|root|Users|work|tmp|workspace)/\w+|\b[A-Z]:\\Users\\")]
    private static partial Regex MachinePath();
}
