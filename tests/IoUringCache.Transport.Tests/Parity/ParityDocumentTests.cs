using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Parity;

/// <summary>
/// The list of scenarios in <c>docs/parity.md</c> is what the tests are. After a change of them:
/// <c>UPDATE_PARITY=1 dotnet test tests/IoUringCache.Transport.Tests</c> writes the list anew; review and commit it.
/// </summary>
public sealed class ParityDocumentTests
{
    private const int MinimumScenarioCount = 120;

    public ParityDocumentTests() => Assert.SkipUnless(Transports.IncludeSockets, "Without Sockets there is no parity to document.");

    [Fact]
    public async Task Suite_Scenarios_AreEnoughAndDiffer()
    {
        IReadOnlyList<ParityScenario> scenarios = await FindAllAsync();
        Assert.True(scenarios.Count(scenario => scenario.RunsOnSockets) >= MinimumScenarioCount, $"Only {scenarios.Count} scenarios, with those of io_uring alone.");
        Assert.DoesNotContain(scenarios.CountBy(scenario => (scenario.Area, scenario.Text)), scenario => scenario.Value > 1);
    }

    [Fact]
    public async Task Document_OfScenarios_EqualsTheTests()
    {
        string? path = FindDocument();
        Assert.SkipWhen(path is null, "The tests run outside of the repository.");
        string document = await File.ReadAllTextAsync(path);
        string actual = ParityDocument.Update(document, await FindAllAsync());
        if (Environment.GetEnvironmentVariable("UPDATE_PARITY") == "1")
        {
            await File.WriteAllTextAsync(path, actual);
            Assert.Skip($"UPDATE_PARITY=1: wrote {path}");
        }

        string[] listed = document.Split('\n');
        string[] tested = actual.Split('\n');
        Assert.True(
            document == actual,
            $"Not in the document:\n{string.Join('\n', tested.Except(listed))}\nNot in the tests:\n{string.Join('\n', listed.Except(tested))}");
    }

    [Fact]
    public async Task Scenarios_OfExample_AreOneForEachRowThatSaysSomethingElse()
    {
        IReadOnlyList<ParityScenario> scenarios = await ParityScenarios.FindAsync([typeof(Example)]);
        Assert.Equal(
            [
                new ParityScenario("Parity: example", "Client sends FIN: reader completes (bytes 1)", true, null),
                new ParityScenario("Parity: example", "Client sends FIN: reader completes (bytes 2)", true, null),
                new ParityScenario("Parity: example", "IsLoud: always", false, "louder"),
            ],
            scenarios);
        string document = ParityDocument.Update(
            "title\n<!-- Generated from the tests: begin -->\nold\n<!-- Generated from the tests: end -->\nrest\n", scenarios);
        Assert.Contains("| Parity: example | IsLoud: always | louder |\n", document, StringComparison.Ordinal);
        Assert.Contains("## The 2 scenarios\n", document, StringComparison.Ordinal);
        Assert.DoesNotContain("old", document, StringComparison.Ordinal);
        Assert.EndsWith("rest\n", document, StringComparison.Ordinal);
    }

    private static Task<IReadOnlyList<ParityScenario>> FindAllAsync() =>
        ParityScenarios.FindAsync(typeof(ParityDocumentTests).Assembly.GetTypes().Where(type => !type.IsAbstract));

    private static string? FindDocument()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "IoUringCache.sln")))
        {
            folder = folder.Parent;
        }

        return folder is null ? null : Path.Combine(folder.FullName, "docs", "parity.md");
    }

    /// <summary>Abstract, so that the runner leaves it alone.</summary>
    public abstract class Example
    {
        public static TheoryData<TransportKind, int> Sizes => Transports.AllWith(1, 2);

        [Theory]
        [MemberData(nameof(Sizes))]
        public void Client_SendsFin_ReaderCompletes(TransportKind kind, int bytes) => Assert.True(bytes > 0, kind.ToString());

        [Theory]
        [InlineData(TransportKind.Inline)]
        [InlineData(TransportKind.ThreadPool)]
        [DeliberateDifference("louder")]
        public void IsLoud_Always(TransportKind kind) => Assert.NotEqual(TransportKind.Sockets, kind);

        [Theory]
        [InlineData(TransportKind.Inline)]
        public void OfOneTransport_WithoutReason_IsNoScenario(TransportKind kind) => Assert.Equal(TransportKind.Inline, kind);
    }
}
