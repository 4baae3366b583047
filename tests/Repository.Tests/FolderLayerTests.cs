using System.Text.RegularExpressions;

namespace Repository.Tests;

/// <summary>
/// The folders of what ships are layers: a folder uses itself and the folders below it. The public types of the transport may be used
/// everywhere in it: options, enumerations and features say what the implementation does.
/// </summary>
public sealed partial class FolderLayerTests
{
    /// <summary>Lowest first. Folders on one line do not use each other.</summary>
    private static readonly string[][] s_layers =
    [
        [Ring + "Native"],
        [Ring + "Errors"],
        [Ring + "Handles"],
        [Ring + "Files", Ring + "Sockets"],
        ["src/IoUringCache.Ring"],
        [Internal + "Diagnostics"],
        [Transport + "/ZeroCopy"],
        [Internal + "Buffers"],
        [Internal + "Loops"],
        [Internal + "Scheduling"],
        [Internal + "Connections"],
        [Internal + "Listening", Internal + "Connecting"],
        [Internal + "Hosting"],
        [Transport],
        [Caching + "Http"],
        [Caching + "Telemetry"],
        [Caching + "Options"],
        [Caching + "Load"],
        [Caching + "Storage"],
        [Caching + "Http1"],
        [Caching + "Origins"],
        [Caching + "Disk"],
        [Caching + "Filling"],
        [Caching + "Serving"],
        [Caching + "Files"],
        [Caching + "Engine"],
        [Caching + "Admin"],
        [Caching + "Hosting"],
        ["src/IoUringCache.Caching"],
        ["src/IoUringCache.Clustering"],
    ];

    private const string Ring = "src/IoUringCache.Ring/";
    private const string Internal = "src/IoUringCache.Transport/Internal/";
    private const string Caching = "src/IoUringCache.Caching/";
    private const string Transport = "src/IoUringCache.Transport";
    private const string Below = Internal + "Buffers";
    private const string Above = Internal + "Loops";

    [Fact]
    public void Folders_Uses_PointDownwards() => Findings.AssertNone(FindUpwardUses([.. SourceTree.CSharp("src/")]));

    [Theory]
    [InlineData("using IoUringCache.Transport.Internal.Loops;")]
    [InlineData("using static IoUringCache.Transport.Internal.Loops.Upper;")]
    [InlineData("using U = IoUringCache.Transport.Internal.Loops.Upper;")]
    [InlineData("class A { IoUringCache.Transport.Internal.Loops.Upper a; }")]
    [InlineData("class A { Loops.Upper a; }")]
    [InlineData("class A { Upper a; }")]
    [InlineData("class A : Upper<int>;")]
    public void LayerRule_UpwardUse_IsFound(string line) =>
        Findings.AssertOne(FindUpwardUses([File(Below, $"\n{line}"), File(Above, "class Upper;")]), $"{Below}/A.cs", 2);

    /// <summary>A child namespace sees the types of its parents without a using directive.</summary>
    [Fact]
    public void LayerRule_UseOfAParentsInternalType_IsFound() => Findings.AssertOne(
        FindUpwardUses([File(Below, "class A { Upper a; }"), File(Transport, "internal sealed class Upper;")]), $"{Below}/A.cs", 1);

    [Theory]
    [InlineData(Above, "using IoUringCache.Transport.Internal.Buffers; class A { Lower a; }", Below, "class Lower;")]
    [InlineData(Below, "class A { Upper a; }", Below, "class Upper;")]
    [InlineData(Below, "class A { Upper a; }", Transport, "public sealed class Upper;")]
    [InlineData(Below, "class A { int Upper() => 0; }", Caching + "Http", "class Upper;")]
    [InlineData(Below, "// Upper\n/// <see cref=\"Upper\"/>\nclass A { string a = \"Upper\"; int b = c.Upper; }", Above, "class Upper;")]
    public void LayerRule_OtherUse_IsNotFound(string folder, string text, string usedFolder, string used) =>
        Findings.AssertNone(FindUpwardUses([File(folder, text), File(usedFolder, used)]));

    [Fact]
    public void LayerRule_UpwardUseInTheCache_IsFound() => Findings.AssertOne(
        FindUpwardUses([File(Caching + "Http", "\nusing IoUringCache.Caching.Filling;"), File(Caching + "Filling", "class Upper;")]),
        Caching + "Http/A.cs",
        2);

    [Fact]
    public void LayerRule_FolderWithoutALayer_IsFound() =>
        Assert.Single(FindUpwardUses([new SourceFile("src/IoUringCache.Transport/Internal/Other/A.cs", "class A;")]));

    [Fact]
    public void LayerRule_UseOfTheFolderBeside_IsFound() =>
        Assert.Single(FindUpwardUses([File(Ring + "Files", "class A { B b; }"), File(Ring + "Sockets", "public class B;")]));

    private static SourceFile File(string folder, string text) => new($"{folder}/A.cs", $"namespace {folder["src/".Length..].Replace('/', '.')};{text}");

    private static IEnumerable<string> FindUpwardUses(IReadOnlyList<SourceFile> files)
    {
        // The folders of the ring share a namespace; such a namespace says nothing, and the names of types have to.
        ILookup<string, string> namespaces = files
            .SelectMany(file => Namespace.Matches(file.Code), (file, match) => (Name: match.Groups["name"].Value, Folder: FolderOf(file)))
            .Distinct()
            .ToLookup(space => space.Name, space => space.Folder);
        ILookup<string, (string Folder, bool IsPublic)> types = files
            .SelectMany(file => TypeDeclaration.Matches(file.Code), (file, match) =>
                (Name: match.Groups["name"].Value, Folder: FolderOf(file), IsPublic: match.Groups["public"].Success))
            .Distinct()
            .ToLookup(type => type.Name, type => (type.Folder, type.IsPublic));
        foreach (SourceFile file in files)
        {
            string folder = FolderOf(file);
            if (LayerOf(folder) < 0)
            {
                yield return $"{file.Path}: its folder has no layer; give it one in {nameof(FolderLayerTests)}";
                continue;
            }

            foreach (Match use in Use.Matches(file.Code).DistinctBy(use => use.Value))
            {
                string? used = use.Groups["namespace"].Success ? FolderOfName(use.Value, namespaces) : FolderOfType(use, folder, types);
                if (used is not null && used != folder && LayerOf(used) >= LayerOf(folder))
                {
                    yield return file.At(use.Index, $"{use.Value} is of {used}, which is not below {folder}");
                }
            }
        }
    }

    /// <summary>The folder of the longest namespace that a qualified name begins with; null if several folders share that.</summary>
    private static string? FolderOfName(string name, ILookup<string, string> namespaces) => namespaces
        .Where(space => name == space.Key || name.StartsWith(space.Key + '.', StringComparison.Ordinal))
        .MaxBy(space => space.Key.Length) is { } folders && folders.Count() == 1
            ? folders.Single()
            : null;

    /// <summary>The folder of a type; null if the name is no type's, several types have it, or it is public in the same project.</summary>
    private static string? FolderOfType(Match use, string user, ILookup<string, (string Folder, bool IsPublic)> types)
    {
        (string Folder, bool IsPublic)[] named = [.. types[use.Groups["type"].Value]];
        if (named is not [(string folder, bool isPublic)] || IsOfHigherProject(folder, user) || (isPublic && HasSurface(folder, user)))
        {
            return null;
        }

        // What follows a dot is a member, unless the end of the type's namespace stands before the dot.
        string qualifier = use.Groups["qualifier"].Value;
        return qualifier.Length == 0 || folder.EndsWith('/' + qualifier, StringComparison.Ordinal) ? folder : null;
    }

    /// <summary>Both are of one project, whose own folders may use what it offers; all types of the ring are its offer.</summary>
    private static bool HasSurface(string folder, string user) =>
        ProjectOf(folder) == ProjectOf(user) && !folder.StartsWith(Ring, StringComparison.Ordinal);

    /// <summary>A project cannot see those above it: there the name is a member's.</summary>
    private static bool IsOfHigherProject(string folder, string user) =>
        ProjectOf(folder) != ProjectOf(user) && LayerOf(folder) > LayerOf(user);

    private static string ProjectOf(string folder) => string.Join('/', folder.Split('/').Take(2));

    private static int LayerOf(string folder) => Array.FindIndex(s_layers, layer => layer.Contains(folder));

    private static string FolderOf(SourceFile file) => Path.GetDirectoryName(file.Path)!;

    [GeneratedRegex(@"\bnamespace\s+(?<name>[\w.]+)")]
    private static partial Regex Namespace { get; }

    [GeneratedRegex(@"(?<public>\bpublic\s[\w\s]*)?\b(?:class|struct|interface|enum|record(?:\s+struct)?|delegate\s+[\w<>\[\]?,. ]+?)\s+(?<name>[A-Z]\w*)")]
    private static partial Regex TypeDeclaration { get; }

    /// <summary>A name that begins with a whole namespace, outside of the namespace's declaration; or what may be the name of a type.</summary>
    [GeneratedRegex(@"(?<!namespace )\b(?<namespace>IoUringCache\.(?:Ring|Transport|Caching)\b[\w.]*)|(?<![\w.])(?<type>[A-Z]\w*)|(?<=\b(?<qualifier>[A-Z]\w*)\.)(?<type>[A-Z]\w*)")]
    private static partial Regex Use { get; }
}
