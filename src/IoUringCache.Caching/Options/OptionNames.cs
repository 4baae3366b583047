namespace IoUringCache.Caching.Options;

/// <summary>The names of all options, those of routes included. Any thread.</summary>
internal static class OptionNames
{
    /// <summary>Of two names that may be one misspelt.</summary>
    private const int MaxDistance = 2;

    public static bool Contain(string name) =>
        OptionCatalog.All.Any(option => option.Name.Equals(name, StringComparison.OrdinalIgnoreCase)) || OptionValues.IsRouteOption(name);

    /// <summary>The first name in a section that is no option; a misspelt one would otherwise be a silent default.</summary>
    /// <param name="path">The name under which its options are known.</param>
    public static string? FindUnknown(IConfiguration section, string path) =>

        // What has no value is a section; a list in a file is one too, and its elements are the options that nobody knows.
        section.AsEnumerable(makePathsRelative: true)
            .Where(static item => item.Value is not null)
            .Select(item => $"{path}:{item.Key}")
            .FirstOrDefault(static name => !Contain(name));

    /// <summary>A question about the option that a wrong name may stand for; empty where none is near.</summary>
    public static string Suggest(string name)
    {
        string? route = OptionValues.RouteOf(name);
        string[] near = [.. (route is null ? OptionCatalog.All : OptionCatalog.OfRoutes)
            .Select(option => (Name: route is null ? option.Name : route + option.LastName, option.LastName))
            .Select(option => (option.Name, Distance: Math.Min(DistanceOf(name, option.Name), DistanceOf(name, option.LastName))))
            .Where(static option => option.Distance <= MaxDistance)
            .OrderBy(static option => option.Distance)
            .Select(static option => option.Name)];
        return near.Length == 0 ? "" : $" Did you mean {near[0]}?";
    }

    /// <summary>How many characters have to be put in, left out or changed (Levenshtein), whatever their case.</summary>
    private static int DistanceOf(string one, string other)
    {
        int[] row = [.. Enumerable.Range(0, other.Length + 1)];
        foreach (char character in one)
        {
            int diagonal = row[0]++;
            for (int index = 0; index < other.Length; index++)
            {
                int change = char.ToUpperInvariant(character) == char.ToUpperInvariant(other[index]) ? 0 : 1;
                (diagonal, row[index + 1]) = (row[index + 1], Math.Min(diagonal + change, Math.Min(row[index], row[index + 1]) + 1));
            }
        }

        return row[^1];
    }
}
