namespace IoUringCache.Caching.Options;

/// <summary>The names of all options, those of routes included. Any thread.</summary>
internal static class OptionNames
{
    public static bool Contain(string name) =>
        OptionCatalog.All.Any(option => option.Name.Equals(name, StringComparison.OrdinalIgnoreCase)) || RoutePolicy.IsName(name);

    /// <summary>The first name in a section that is no option, with its path; a misspelt one would otherwise be a silent default.</summary>
    public static string? FindUnknown(IConfigurationSection section)
    {
        foreach ((string path, string? value) in section.AsEnumerable())
        {
            // What has no value is a section; a list in a file is one too, and its elements are the options that nobody knows.
            if (value is not null && !Contain(path))
            {
                return path;
            }
        }

        return null;
    }
}
