using System.Xml.Linq;

namespace Repository.Tests;

/// <summary>What project files may refer to: benchmarks, then samples, then Clustering, then Caching, then Transport, then Ring, then nothing.</summary>
public sealed class ProjectStructureTests
{
    /// <summary>The transport depends on nothing; the cache leaves retries to Polly, and Zstandard, which the framework lacks, to ZstdSharp.</summary>
    private static readonly string[] s_packagesOfCaching = ["Polly.Core", "ZstdSharp.Port"];

    /// <summary>It ships in the service, and in no package.</summary>
    private static readonly string[] s_packagesOfClustering = ["NATS.Client.JetStream", "NATS.Client.KeyValueStore"];

    private static IEnumerable<SourceFile> Projects => SourceTree.Files.Where(file => file.Path.EndsWith(".csproj", StringComparison.Ordinal));

    [Fact]
    public void Projects_References_PointDownwards() => Findings.AssertNone(Projects.SelectMany(FindUpwardReferences));

    [Fact]
    public void Projects_ThatShip_DependOnNoOtherPackage() => Findings.AssertNone(Projects.SelectMany(FindShippedPackages));

    [Fact]
    public void Projects_All_AreInTheSolution()
    {
        string solution = SourceTree.Files.Single(file => file.Path == "IoUringCache.sln").Text;
        Findings.AssertNone(FindOutsideSolution(Projects.Select(project => project.Path), solution));
    }

    [Fact]
    public void Projects_PathsOfPackages_WorkWhereverPackagesAre() => Findings.AssertNone(Projects.SelectMany(FindPathsOfPackages));

    [Theory]
    [InlineData("src/IoUringCache.Ring/IoUringCache.Ring.csproj", "../IoUringCache.Transport/IoUringCache.Transport.csproj")]
    [InlineData("src/IoUringCache.Transport/IoUringCache.Transport.csproj", "../IoUringCache.Caching/IoUringCache.Caching.csproj")]
    [InlineData("src/IoUringCache.Transport/IoUringCache.Transport.csproj", "../../samples/EchoServer/EchoServer.csproj")]
    [InlineData("samples/EchoServer/EchoServer.csproj", "../PlaintextServer/PlaintextServer.csproj")]
    [InlineData("samples/EchoServer/EchoServer.csproj", "../../benchmarks/B/B.csproj")]
    [InlineData("benchmarks/B/B.csproj", "../C/C.csproj")]
    [InlineData("benchmarks/B/B.csproj", "../../tests/Repository.Tests/Repository.Tests.csproj")]
    public void DirectionRule_UpwardReference_IsFound(string path, string reference)
    {
        SourceFile project = new(path, $"<Project><ItemGroup><ProjectReference Include=\"{reference}\" /></ItemGroup></Project>");
        Assert.Single(FindUpwardReferences(project));
    }

    [Fact]
    public void PackageRule_ShippedPackage_IsFound()
    {
        const string Text = "<Project><ItemGroup><PackageReference Include=\"A\" /><PackageReference Include=\"B\" PrivateAssets=\"all\" /></ItemGroup></Project>";
        Assert.Single(FindShippedPackages(new SourceFile("src/A/A.csproj", Text)));
    }

    [Theory]
    [InlineData("$(NuGetPackageRoot)a/1.0/lib/a.dll", 1)]
    [InlineData("$([MSBuild]::EnsureTrailingSlash('$(NuGetPackageRoot)'))a/1.0/lib/a.dll", 0)]
    public void PathRule_OfAPackage_IsJudged(string path, int findings) =>
        Assert.Equal(findings, FindPathsOfPackages(new SourceFile("tests/A/A.csproj", $"<Project><A Path=\"{path}\" /></Project>")).Count());

    [Fact]
    public void SolutionRule_MissingProject_IsFound() =>
        Assert.Single(FindOutsideSolution(["src/A/A.csproj", "src/B/B.csproj"], "\"A\", \"src\\A\\A.csproj\", \"{...}\""));

    /// <summary>A reference must lead to a lower rank, so that nothing refers to its own kind either.</summary>
    private static IEnumerable<string> FindUpwardReferences(SourceFile project) =>
        from reference in XDocument.Parse(project.Text).Descendants("ProjectReference")
        let target = Resolve(project.Path, (string?)reference.Attribute("Include") ?? "")
        where Rank(target) >= Rank(project.Path)
        select $"{project.Path}: refers to {target}";

    private static IEnumerable<string> FindShippedPackages(SourceFile project) =>
        from package in XDocument.Parse(project.Text).Descendants("PackageReference")
        let name = (string?)package.Attribute("Include")
        where project.Path.StartsWith("src/", StringComparison.Ordinal) && (string?)package.Attribute("PrivateAssets") != "all"
        where !(project.Path == "src/IoUringCache.Caching/IoUringCache.Caching.csproj" && s_packagesOfCaching.Contains(name))
        where !(project.Path == "src/IoUringCache.Clustering/IoUringCache.Clustering.csproj" && s_packagesOfClustering.Contains(name))
        select $"{project.Path}: would ship with a dependency on {name}";

    /// <summary>The folder of packages is what NUGET_PACKAGES says, with or without a slash at its end.</summary>
    private static IEnumerable<string> FindPathsOfPackages(SourceFile project)
    {
        const string Root = "$(NuGetPackageRoot)";
        if (project.Text.Replace($"EnsureTrailingSlash('{Root}')", "", StringComparison.Ordinal).Contains(Root, StringComparison.Ordinal))
        {
            yield return $"{project.Path}: {Root} may have no slash at its end; it needs [MSBuild]::EnsureTrailingSlash";
        }
    }

    private static IEnumerable<string> FindOutsideSolution(IEnumerable<string> projects, string solution) =>
        projects.Where(path => !solution.Contains($"\"{path.Replace('/', '\\')}\"", StringComparison.Ordinal)).Select(path => $"{path}: not in the solution");

    private static string Resolve(string project, string reference)
    {
        string folder = Path.GetDirectoryName(project) ?? "";
        return Path.GetRelativePath("/", Path.GetFullPath(Path.Combine("/", folder, reference.Replace('\\', '/'))));
    }

    private static int Rank(string path) => path switch
    {
        _ when path.StartsWith("src/IoUringCache.Ring/", StringComparison.Ordinal) => 0,
        _ when path.StartsWith("src/IoUringCache.Transport/", StringComparison.Ordinal) => 1,
        _ when path.StartsWith("src/IoUringCache.Caching/", StringComparison.Ordinal) => 2,
        _ when path.StartsWith("src/IoUringCache.Clustering/", StringComparison.Ordinal) => 3,
        _ when path.StartsWith("samples/", StringComparison.Ordinal) => 4,
        _ when path.StartsWith("benchmarks/", StringComparison.Ordinal) => 5,
        _ when path.StartsWith("tests/", StringComparison.Ordinal) => 6,
        _ => throw new InvalidOperationException($"{path}: a project that the layers do not name; give it a rank here"),
    };
}
