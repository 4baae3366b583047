using System.Text.RegularExpressions;

namespace Repository.Tests;

/// <summary>The table of the cache's rules names tests that exist, and says something in every row.</summary>
public sealed partial class CacheRulesDocumentTests
{
    private const string DocumentPath = "docs/cache-rules.md";
    private const string TestsFolder = "tests/CachingService.Tests/";
    private const string TestsOfTheLibrary = "tests/IoUringCache.Caching.Tests/";

    /// <summary>Of a row that has no test.</summary>
    private const string Dash = "–";

    [Fact]
    public void Rows_All_NameTestsThatExistOrSayThatThereIsNone()
    {
        SourceFile document = SourceTree.Files.Single(file => file.Path == DocumentPath);
        Findings.AssertNone(FindBadRows(document, TestsOf([.. SourceTree.CSharp(TestsFolder), .. SourceTree.CSharp(TestsOfTheLibrary)]), SourceTree.Files.Select(file => file.Path)));
    }

    [Theory]
    [InlineData("| a | b | `ATests.Does_It` |", 0)]
    [InlineData("| a | b | `ATests.Does_It`, `scripts/a.sh` |", 0)]
    [InlineData("| a | `no test` | – |", 0)]
    [InlineData("| a | b | `ATests.Does_It`, `ATests.Did_It` |", 1)]
    [InlineData("| a | b | `scripts/b.sh` |", 1)]
    [InlineData("| a | b | `ATests.Helper` |", 1)]
    [InlineData("| a | b | tested |", 1)]
    [InlineData("| a | b | |", 1)]
    public void RowRule_EachRow_IsJudged(string row, int findings)
    {
        SourceFile tests = new(TestsFolder + "ATests.cs", """
            public sealed class ATests
            {
                [Fact]
                public async Task Does_It()
                {
                }

                private static void Helper()
                {
                }
            }
            """);
        SourceFile document = new(DocumentPath, $"| x | y | shown by |\n|---|---|---|\n{row}\n");

        Assert.Equal(findings, FindBadRows(document, TestsOf([tests]), ["scripts/a.sh"]).Count());
    }

    private static IEnumerable<string> FindBadRows(SourceFile document, HashSet<string> tests, IEnumerable<string> paths)
    {
        HashSet<string> known = [.. tests, .. paths];
        foreach (Match row in Row().Matches(document.Text))
        {
            string[] names = [.. Name().Matches(row.Groups["last"].Value).Select(name => name.Groups[1].Value)];
            if (names.Length == 0 && row.Groups["last"].Value.Trim() != Dash)
            {
                yield return document.At(row.Index, $"a row without a test and without {Dash}");
            }

            foreach (string name in names.Where(name => !known.Contains(name)))
            {
                yield return document.At(row.Index, $"{name}: there is no such test");
            }
        }
    }

    /// <summary><c>Class.Method</c> of everything with an attribute of a test; a file is named after its class.</summary>
    private static HashSet<string> TestsOf(IEnumerable<SourceFile> files) =>
    [
        .. from file in files
           from Match method in Test().Matches(file.Text)
           select $"{Path.GetFileNameWithoutExtension(file.Path)}.{method.Groups["name"].Value}",
    ];

    /// <summary>A line of a table that is neither its head nor the line below that.</summary>
    [GeneratedRegex(@"^\|(?![^\n]*shown by \|$)(?!---)[^\n]*\|(?<last>[^|\n]*)\|$", RegexOptions.Multiline)]
    private static partial Regex Row();

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Name();

    [GeneratedRegex(@"\[(?:Fact|Theory)[^\]]*\](?:\s*\[[^\n]*\])*\s*public (?:async )?(?:Task|void) (?<name>\w+)\(")]
    private static partial Regex Test();
}
