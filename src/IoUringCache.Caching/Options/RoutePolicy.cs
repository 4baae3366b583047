namespace IoUringCache.Caching.Options;

/// <summary>What may differ from route to route; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Prefix">First bytes of the keys; empty for all keys without a route of their own.</param>
/// <param name="HoldTime">Zero: as long as the fill needs.</param>
/// <param name="MinReaderRate">Bytes per second; zero: none.</param>
/// <param name="Coalesce">Whether requests share a fill.</param>
internal sealed record RoutePolicy(string Prefix, TimeSpan HoldTime, long MinReaderRate, bool Coalesce)
{
    private const string Section = "Cache:Routes";

    private static readonly string[] s_names =
        [.. new Option[] { OptionCatalog.RoutePrefix, OptionCatalog.HoldTime, OptionCatalog.MinReaderRate, OptionCatalog.Coalesce }
            .Select(option => option.LastName)];

    /// <summary>True for the name of a route's option, such as <c>Cache:Routes:0:HoldTime</c>.</summary>
    public static bool IsName(string name) =>
        name.Split(':') is [.. string[] section, var number, var last]
        && string.Join(':', section).Equals(Section, StringComparison.OrdinalIgnoreCase)
        && number.Length > 0 && number.All(char.IsAsciiDigit)
        && s_names.Contains(last, StringComparer.OrdinalIgnoreCase);

    /// <summary>The options of all other keys.</summary>
    /// <exception cref="OptionException">A value is not valid.</exception>
    public static RoutePolicy ReadGeneral(IConfiguration configuration) => new(
        "",
        OptionCatalog.HoldTime.Read(configuration),
        OptionCatalog.MinReaderRate.Read(configuration),
        OptionCatalog.Coalesce.Read(configuration));

    /// <summary>All routes, each with the general value where it has none of its own.</summary>
    /// <exception cref="OptionException">A value is not valid, or a prefix is missing or given twice.</exception>
    public static RoutePolicy[] ReadAll(IConfiguration configuration)
    {
        List<RoutePolicy> routes = [];
        foreach (IConfigurationSection section in configuration.GetSection(Section).GetChildren())
        {
            string prefix = OptionCatalog.RoutePrefix.ReadFor(section.Path, configuration);
            if (prefix.Length == 0 || routes.Any(route => route.Prefix == prefix))
            {
                string fault = prefix.Length == 0 ? "is missing" : $"'{prefix}' is another route's";
                throw new OptionException($"Option {section.Path}:{OptionCatalog.RoutePrefix.LastName}: {fault}.");
            }

            routes.Add(new(
                prefix,
                OptionCatalog.HoldTime.ReadFor(section.Path, configuration),
                OptionCatalog.MinReaderRate.ReadFor(section.Path, configuration),
                OptionCatalog.Coalesce.ReadFor(section.Path, configuration)));
        }

        return [.. routes];
    }
}
