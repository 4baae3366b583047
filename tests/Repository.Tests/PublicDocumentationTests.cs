using System.Reflection;
using System.Xml.Linq;

namespace Repository.Tests;

/// <summary>
/// What the packages document: an example of each type, which is compiled somewhere, every parameter and result, and every default. That
/// there is a summary at all is the compiler's to check.
/// </summary>
public sealed class PublicDocumentationTests
{
    public static TheoryData<string> Assemblies => ["IoUringCache.Ring", "IoUringCache.Transport", "IoUringCache.Caching"];

    [Theory]
    [MemberData(nameof(Assemblies))]
    public void Types_Examples_AreThereAndCompiled(string assembly)
    {
        string[] sources = [.. SourceTree.CSharp("tests/").Concat(SourceTree.CSharp("samples/")).Select(file => Lines(file.Text))];
        Findings.AssertNone(Types(assembly).SelectMany(type => FindWithoutExample(type, Documentation(assembly), sources)));
    }

    [Theory]
    [MemberData(nameof(Assemblies))]
    public void Methods_ParametersAndResults_AreDocumented(string assembly) =>
        Findings.AssertNone(Types(assembly).SelectMany(type => FindUndocumentedParts(type, Documentation(assembly))));

    [Theory]
    [InlineData("IoUringCache.Ring", "RingOptions")]
    [InlineData("IoUringCache.Transport", "IoUringTransportOptions")]
    [InlineData("IoUringCache.Transport", "IoUringTransportAdvancedOptions")]
    [InlineData("IoUringCache.Caching", "StreamingCacheRouteOptions")]
    public void Options_Defaults_AreDocumented(string assembly, string type) =>
        Findings.AssertNone(Types(assembly).Single(candidate => candidate.Name == type).GetProperties()
            .Where(property => property.SetMethod is not null)
            .Where(property => !Documentation(assembly)[$"P:{assembly}.{type}.{property.Name}"].Value.Contains("Defaults to", StringComparison.Ordinal))
            .Select(property => $"{type}.{property.Name}: its documentation does not say what it defaults to"));

    [Theory]
    [InlineData("src/IoUringCache.Transport/README.md")]
    public void Readmes_OptionTable_HasEveryOption(string path)
    {
        string table = string.Concat(SourceTree.Files.Single(file => file.Path == path).Text.Split('\n').Where(line => line.StartsWith('|')));
        Findings.AssertNone(Options("IoUringTransportOptions").Where(option => option != "Advanced")
            .Concat(Options("IoUringTransportAdvancedOptions").Select(option => $"Advanced.{option}"))
            .Where(option => !table.Contains($"| `{option}` |", StringComparison.Ordinal))
            .Select(option => $"{path}: {option} is not in the table"));

        static IEnumerable<string> Options(string name) =>
            Types("IoUringCache.Transport").Single(type => type.Name == name).GetProperties().Select(property => property.Name);
    }

    [Fact]
    public void ExampleRule_TypeWithoutOne_IsFound() =>
        Assert.Single(FindWithoutExample(typeof(Example), Parse("""<member name="T:Repository.Tests.PublicDocumentationTests.Example" />"""), []));

    [Theory]
    [InlineData("int a = 1;\n    int b = 2;", 0)]
    [InlineData("int a = 1;\nint c = 3;\nint b = 2;", 1)]
    public void ExampleRule_Lines_MustStandTogetherInASource(string source, int findings)
    {
        const string Text =
            """
            <member name="M:Repository.Tests.PublicDocumentationTests.Example.Find(System.Int32)">
              <example><code>
                int a = 1;
                int b = 2;
              </code></example>
            </member>
            """;
        Assert.Equal(findings, FindWithoutExample(typeof(Example), Parse(Text), [Lines(source)]).Count());
    }

    [Theory]
    [InlineData("""<param name="key">A.</param><returns>B.</returns>""", 0)]
    [InlineData("""<param name="key">A.</param>""", 1)]
    [InlineData("""<returns>B.</returns>""", 1)]
    [InlineData("""<inheritdoc cref="M" path="/returns"/>""", 2)]
    [InlineData("""<inheritdoc cref="M"/>""", 0)]
    public void PartsRule_MethodOfOneParameter_IsHeldToBoth(string parts, int findings)
    {
        Dictionary<string, XElement> documentation =
            Parse($"""<member name="M:Repository.Tests.PublicDocumentationTests.Example.Find(System.Int32)">{parts}</member>""");
        Assert.Equal(findings, FindUndocumentedParts(typeof(Example), documentation).Count());
    }

    public static class Example
    {
        public static string Find(int key) => $"{key}";
    }

    private static IEnumerable<string> FindWithoutExample(Type type, Dictionary<string, XElement> documentation, string[] sources)
    {
        string name = DocumentationName(type);
        string[] examples =
        [
            .. documentation.Where(entry => entry.Key[2..] == name || entry.Key[2..].StartsWith($"{name}.", StringComparison.Ordinal))
                .SelectMany(entry => entry.Value.Elements("example")).Select(example => Lines(example.Value)),
        ];
        return examples.Length == 0
            ? [$"{name}: has no example"]
            : examples.Where(example => !sources.Any(source => source.Contains(example, StringComparison.Ordinal)))
                .Select(example => $"{name}: no test and no sample has the lines of its example:{example}");
    }

    private static IEnumerable<string> FindUndocumentedParts(Type type, Dictionary<string, XElement> documentation) =>
        from method in type.GetMembers(BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly).OfType<MethodBase>()
        where !method.IsSpecialName || method.IsConstructor
        let entry = Find(method, documentation)
        where entry is not null && !entry.Elements("inheritdoc").Any(inherited => inherited.Attribute("path") is null)
        let documented = entry.Elements("param").Select(parameter => (string?)parameter.Attribute("name"))
        from part in method.GetParameters().Select(parameter => parameter.Name).Except(documented)
            .Concat(method is MethodInfo { ReturnType: Type result } && result != typeof(void) && entry.Element("returns") is null ? ["its result"] : [])
        select $"{type.Name}.{method.Name}: {part} is not documented";

    /// <summary>The entry of a method; null for those that the compiler has made, which have none.</summary>
    private static XElement? Find(MethodBase method, Dictionary<string, XElement> documentation)
    {
        string name = $"M:{DocumentationName(method.DeclaringType!)}.{(method.IsConstructor ? "#ctor" : method.Name)}";
        return documentation.FirstOrDefault(entry => entry.Key.Split('(')[0].Split("``")[0] == name && IsFor(method, entry.Key)).Value;
    }

    /// <summary>Whether the parameters in the name of an entry have the types of a method's, arguments of types aside.</summary>
    private static bool IsFor(MethodBase method, string entry)
    {
        string[] types = entry.Contains('(', StringComparison.Ordinal) ? SplitTypes(entry[(entry.IndexOf('(', StringComparison.Ordinal) + 1)..^1]) : [];
        ParameterInfo[] parameters = method.GetParameters();
        return types.Length == parameters.Length && types.Zip(parameters).All(pair =>
            pair.Second.ParameterType.ContainsGenericParameters
            || pair.First.Split('{')[0].TrimEnd('@').EndsWith(pair.Second.ParameterType.Name.Split('`')[0].TrimEnd('&'), StringComparison.Ordinal));
    }

    /// <summary>Commas between braces belong to type arguments.</summary>
    private static string[] SplitTypes(string list)
    {
        int depth = 0;
        return string.Concat(list.Select(character =>
        {
            depth += character == '{' ? 1 : character == '}' ? -1 : 0;
            return character == ',' && depth == 0 ? ';' : character;
        })).Split(';');
    }

    /// <summary>The lines that are not empty, without their indentation, each after a line feed.</summary>
    private static string Lines(string text) =>
        string.Concat(text.Split('\n').Select(line => line.Trim()).Where(line => line.Length > 0).Select(line => $"\n{line}")) + "\n";

    private static string DocumentationName(Type type) => type.FullName!.Replace('+', '.');

    private static Type[] Types(string assembly) => Assembly.Load(assembly).GetExportedTypes();

    private static Dictionary<string, XElement> Documentation(string assembly) =>
        Parse(File.ReadAllText(Path.Combine(AppContext.BaseDirectory, $"{assembly}.xml")));

    private static Dictionary<string, XElement> Parse(string text) =>
        XElement.Parse(text).DescendantsAndSelf("member").ToDictionary(member => (string)member.Attribute("name")!);
}
