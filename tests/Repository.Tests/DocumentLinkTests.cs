using System.Text.RegularExpressions;

namespace Repository.Tests;

/// <summary>Links between documents lead to files and headings that exist, and every design page is found from the architecture.</summary>
public sealed partial class DocumentLinkTests
{
    private const string ArchitecturePath = "docs/ARCHITECTURE.md";
    private const string DesignFolder = "docs/design/";

    [Fact]
    public void Links_All_LeadSomewhere() => Findings.AssertNone(SourceTree.Files.SelectMany(file => FindDeadLinks(file, ExistsInTree, HeadingsInTree)));

    [Fact]
    public void DesignPages_All_AreLinkedFromTheArchitecture()
    {
        SourceFile architecture = SourceTree.Files.Single(file => file.Path == ArchitecturePath);
        string[] pages = [.. SourceTree.Files.Select(file => file.Path).Where(path => path.StartsWith(DesignFolder, StringComparison.Ordinal))];

        Assert.NotEmpty(pages);
        Findings.AssertNone(FindUnlinkedPages(architecture, pages));
    }

    [Fact]
    public void DesignPages_Tests_AreThere()
    {
        SourceFile[] tests = [.. SourceTree.CSharp("tests/")];
        Findings.AssertNone(
            SourceTree.Files.Where(file => file.Path.StartsWith(DesignFolder, StringComparison.Ordinal)).SelectMany(page => FindMissingTests(page, tests)));
    }

    [Theory]
    [InlineData("docs/a.md", "see [b](design/b.md), [its part](design/b.md#a-part) and [above](#top)\n# Top", 0)]
    [InlineData("docs/a.md", "see [b](../docs/design/b.md) and [elsewhere](https://example.org/x.md)", 0)]
    [InlineData("docs/a.md", "`[x](y)` and\n```\n[x](y)\n```\n", 0)]
    [InlineData("docs/a.md", "see [c](design/c.md)", 1)]
    [InlineData("docs/a.md", "see [b](design/b.md#another-part)", 1)]
    [InlineData("docs/a.md", "![picture](missing.svg)", 1)]
    [InlineData("src/a.cs", "// docs/design/b.md has the reason.", 0)]
    [InlineData("src/a.cs", "// docs/design/c.md has the reason.", 1)]
    [InlineData("src/a.cs", "// docs/decisions/0001-b.md has the reason.", 1)]
    public void LinkRule_EachLink_IsJudged(string path, string text, int findings) =>
        Assert.Equal(
            findings,
            FindDeadLinks(
                new SourceFile(path, text),
                target => target is "docs/a.md" or "docs/design/b.md",
                target => target == "docs/a.md" ? ["top"] : ["a-part"]).Count());

    [Fact]
    public void PageRule_PageWithoutLink_IsFound() =>
        Findings.AssertOne(FindUnlinkedPages(new SourceFile(ArchitecturePath, "[a](design/a.md#x)"), ["docs/design/a.md", "docs/design/b.md"]), ArchitecturePath, 1);

    [Theory]
    [InlineData("`ATests`, `Does_It_Well`, `ATests.Does_It_Well`, `AKind`", 0)]
    [InlineData("`BTests`", 1)]
    [InlineData("`Does_It_Badly`", 1)]
    [InlineData("`ATests.Does_It_Badly`", 1)]
    public void TestRule_EachName_IsJudged(string text, int findings) =>
        Assert.Equal(
            findings,
            FindMissingTests(new SourceFile("docs/design/a.md", text), [new SourceFile("tests/ATests.cs", "public void Does_It_Well()")]).Count());

    /// <summary>Names of test classes and test methods in a page that no test has.</summary>
    private static IEnumerable<string> FindMissingTests(SourceFile page, IReadOnlyCollection<SourceFile> tests) =>
        from Match match in TestName().Matches(page.Text)
        let type = match.Groups["type"].Value
        let method = match.Groups["method"].Value
        where !tests.Any(file =>
            (type.Length == 0 || Path.GetFileNameWithoutExtension(file.Path) == type)
            && (method.Length == 0 || file.Text.Contains($" {method}(", StringComparison.Ordinal)))
        select page.At(match.Index, $"there is no test {match.Value}");

    private static IEnumerable<string> FindUnlinkedPages(SourceFile architecture, IEnumerable<string> pages)
    {
        HashSet<string> linked = [.. Links(architecture).Select(link => link.Path)];
        return pages.Where(page => !linked.Contains(page)).Select(page => architecture.At(0, $"{page} is not linked"));
    }

    private static IEnumerable<string> FindDeadLinks(SourceFile file, Func<string, bool> exists, Func<string, IReadOnlyCollection<string>> headings)
    {
        IEnumerable<Link> links = file.Path.EndsWith(".md", StringComparison.Ordinal) ? Links(file) : Mentions(file);
        foreach (Link link in links)
        {
            if (!exists(link.Path))
            {
                yield return file.At(link.Index, $"there is no {link.Path}");
            }
            else if (link.Heading.Length > 0 && !headings(link.Path).Contains(link.Heading))
            {
                yield return file.At(link.Index, $"{link.Path} has no heading #{link.Heading}");
            }
        }
    }

    /// <summary>Relative links and pictures of a Markdown file, as paths from the root.</summary>
    private static IEnumerable<Link> Links(SourceFile file)
    {
        string text = CodeText().Replace(file.Text, match => new string(' ', match.Length));
        foreach (Match match in MarkdownLink().Matches(text))
        {
            string target = match.Groups["target"].Value;
            if (!target.Contains(':', StringComparison.Ordinal))
            {
                string[] parts = target.Split('#');
                yield return new Link(match.Index, parts[0].Length == 0 ? file.Path : Resolve(file.Path, parts[0]), parts.Length > 1 ? parts[1] : "");
            }
        }
    }

    /// <summary>Design pages and older records that a file which is no document names by their path.</summary>
    private static IEnumerable<Link> Mentions(SourceFile file) =>
        file.Path.EndsWith("DocumentLinkTests.cs", StringComparison.Ordinal)
            ? []
            : Mention().Matches(file.Text).Select(match => new Link(match.Index, match.Value, ""));

    private static string Resolve(string from, string target)
    {
        string folder = Path.GetDirectoryName(from) ?? "";
        return Path.GetRelativePath("/", Path.GetFullPath(Path.Combine("/", folder, target)));
    }

    private static bool ExistsInTree(string path) =>
        File.Exists(Path.Combine(SourceTree.Root, path)) || Directory.Exists(Path.Combine(SourceTree.Root, path));

    private static HashSet<string> HeadingsInTree(string path) =>
        SourceTree.Files.FirstOrDefault(file => file.Path == path) is { } file
            ? [.. Heading().Matches(file.Text).Select(match => Slug(match.Groups["text"].Value))]
            : [];

    /// <summary>A heading's name in links: its letters, digits and dashes in lower case, spaces as dashes.</summary>
    private static string Slug(string heading) =>
        string.Concat(heading.Trim().ToLowerInvariant().Where(each => char.IsLetterOrDigit(each) || each is ' ' or '-' or '_').Select(each => each == ' ' ? '-' : each));

    [GeneratedRegex(@"```.*?```|`[^`\n]*`", RegexOptions.Singleline)]
    private static partial Regex CodeText();

    [GeneratedRegex(@"\]\((?<target>[^)\s]+)\)")]
    private static partial Regex MarkdownLink();

    [GeneratedRegex(@"docs/(?:design|decisions)/[\w-]+\.md")]
    private static partial Regex Mention();

    /// <summary>A class whose name ends in Tests, a method named by its subject, state and outcome, or both.</summary>
    [GeneratedRegex(@"`(?:(?<type>[A-Z]\w*Tests)(?:\.(?<method>\w+))?|(?<method>[A-Z][a-z]\w*_[A-Z]\w*_[A-Z]\w*))`")]
    private static partial Regex TestName();

    [GeneratedRegex(@"^#+ (?<text>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    /// <summary>A reference to another file.</summary>
    /// <param name="Index">Where it stands, in characters of the text.</param>
    /// <param name="Path">The file, relative to the root.</param>
    /// <param name="Heading">The name of the heading; empty: the whole file.</param>
    private readonly record struct Link(int Index, string Path, string Heading);
}
