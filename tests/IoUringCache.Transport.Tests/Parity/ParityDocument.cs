using System.Text;

namespace IoUringCache.Transport.Tests.Parity;

/// <summary>The generated part of <c>docs/parity.md</c>; what stands around it is written by hand.</summary>
internal static class ParityDocument
{
    private const string Begin = "<!-- Generated from the tests: begin -->\n";
    private const string End = "<!-- Generated from the tests: end -->\n";

    /// <summary>The document with its generated part made anew.</summary>
    internal static string Update(string document, IReadOnlyList<ParityScenario> scenarios)
    {
        int begin = document.IndexOf(Begin, StringComparison.Ordinal) + Begin.Length;
        int end = document.IndexOf(End, StringComparison.Ordinal);
        if (begin < Begin.Length || end < begin)
        {
            throw new InvalidDataException("The marks of the generated part are missing.");
        }

        return $"{document[..begin]}\n{Render(scenarios)}\n{document[end..]}";
    }

    private static string Render(IReadOnlyList<ParityScenario> scenarios)
    {
        ParityScenario[] shared = [.. scenarios.Where(scenario => scenario.RunsOnSockets)];
        StringBuilder text = new();
        text.Append("## Differences that a test shows\n\n| area | scenario | difference |\n|---|---|---|\n");
        foreach (ParityScenario scenario in scenarios.Where(scenario => scenario.Difference is not null))
        {
            text.Append($"| {scenario.Area} | {Cell(scenario.Text)} | {Cell(scenario.Difference!)} |\n");
        }

        text.Append($"\n## The {shared.Length} scenarios\n\n| area | scenario | difference |\n|---|---|---|\n");
        foreach (ParityScenario scenario in shared)
        {
            text.Append($"| {scenario.Area} | {Cell(scenario.Text)} | {(scenario.Difference is null ? "none" : "see above")} |\n");
        }

        return text.ToString();
    }

    private static string Cell(string text) => text.Replace("|", "\\|", StringComparison.Ordinal);
}
