namespace IoUringCache.Caching.Options;

/// <summary>The names of all options, those of routes included. Any thread.</summary>
internal static class OptionNames
{
    public static bool Contain(string name) =>
        OptionCatalog.All.Any(option => option.Name.Equals(name, StringComparison.OrdinalIgnoreCase)) || OptionValues.IsRouteOption(name);

    /// <summary>The first name in a section that is no option; a misspelt one would otherwise be a silent default.</summary>
    /// <param name="section">Of any name.</param>
    /// <param name="path">The name under which its options are known.</param>
    public static string? FindUnknown(IConfiguration section, string path) =>

        // What has no value is a section; a list in a file is one too, and its elements are the options that nobody knows.
        section.AsEnumerable(makePathsRelative: true)
            .Where(static item => item.Value is not null)
            .Select(item => $"{path}:{item.Key}")
            .FirstOrDefault(static name => !Contain(name));
}
