namespace IoUringCache.Caching.Options;

/// <summary>
/// The values that somebody gave to the options of one section, the cache's or a route's; all others have their defaults. One thread at a time;
/// owned by <see cref="StreamingCacheOptions"/>.
/// </summary>
/// <param name="path">Path of the section, for messages.</param>
internal sealed class OptionValues(string path, OptionValues? general = null)
{
    /// <summary>The section under which the options are known.</summary>
    public const string CacheSection = "Cache";

    /// <summary>The section in it with one for each route.</summary>
    public const string RoutesSection = "Routes";

    private readonly Dictionary<Option, object?> _values = [];

    /// <summary>Of routes; they come from a configuration only.</summary>
    public IReadOnlyList<OptionValues> Routes { get; private set; } = [];

    /// <summary>True for the name of a route's option, such as <c>Cache:Routes:0:HoldTime</c>.</summary>
    public static bool IsRouteOption(string name) =>
        RouteOf(name) is { } route && OptionCatalog.OfRoutes.Any(option => name.AsSpan(route.Length).Equals(option.LastName, StringComparison.OrdinalIgnoreCase));

    /// <summary>What stands before the last part of a name in a route's section, such as <c>Cache:Routes:0:</c>; <see langword="null"/> for other names.</summary>
    public static string? RouteOf(string name) =>
        name.Split(':') is [var section, var routes, var number, var last]
        && section.Equals(CacheSection, StringComparison.OrdinalIgnoreCase)
        && routes.Equals(RoutesSection, StringComparison.OrdinalIgnoreCase)
        && number.Length > 0 && number.All(char.IsAsciiDigit) ? name[..^last.Length] : null;

    /// <summary>Whose values hold where this has none; <see langword="null"/>: the defaults.</summary>
    public OptionValues? General => general;

    /// <summary>Whether it has a value of its own.</summary>
    public bool Has(Option option) => _values.ContainsKey(option);

    public T Get<T>(Option<T> option) =>
        _values.TryGetValue(option, out object? value) ? (T)value! : general is null ? option.Default : general.Get(option);

    public void Set<T>(Option<T> option, T value) => _values[option] = value;

    /// <summary>The name of an option in this section.</summary>
    public string NameOf(Option option) => $"{path}:{option.LastName}";

    /// <summary>Takes what a section has for the options of the cache and of its routes.</summary>
    /// <exception cref="OptionException">A text is not a value of its option.</exception>
    public void Read(IConfiguration section)
    {
        Read(section, OptionCatalog.OfCache);
        Routes =
        [
            .. section.GetSection(RoutesSection).GetChildren().Select(route =>
            {
                OptionValues values = new($"{path}:{RoutesSection}:{route.Key}", this);
                values.Read(route, OptionCatalog.OfRoutes);
                return values;
            }),
        ];
    }

    /// <summary>Reads every value again from its own text, which finds those that no text would have given.</summary>
    /// <exception cref="OptionException">A value is not one of its option.</exception>
    public void Check()
    {
        foreach ((Option option, object? value) in _values)
        {
            option.Parse(NameOf(option), ValueText.Of(value));
        }
    }

    private void Read(IConfiguration section, IReadOnlyList<Option> options)
    {
        foreach (Option option in options)
        {
            if (section[option.LastName] is { } text)
            {
                _values[option] = option.Parse(NameOf(option), text);
            }
        }
    }
}
