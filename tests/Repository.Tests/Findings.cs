namespace Repository.Tests;

/// <summary>The two ends that every rule has: it holds for the repository, and it finds what is wrong in a bad example.</summary>
internal static class Findings
{
    public static void AssertNone(IEnumerable<string> findings)
    {
        string[] found = [.. findings];
        Assert.True(found.Length == 0, $"{found.Length} finding(s):\n{string.Join('\n', found)}");
    }

    /// <summary>Exactly one finding, at the line that the example's author expects.</summary>
    public static void AssertOne(IEnumerable<string> findings, string file, int line) =>
        Assert.StartsWith($"{file}:{line}: ", Assert.Single(findings), StringComparison.Ordinal);
}
