namespace IoUringCache.Caching.Options;

/// <summary>What <c>--help</c> and the checks need to know of one option. Immutable; any thread.</summary>
/// <param name="name">Configuration key, e.g. <c>Cache:DefaultTtl</c>; matched without regard to case.</param>
/// <param name="defaultText">The default in the form that a user would write; empty where unset has a meaning of its own.</param>
/// <param name="form">What a value looks like, with its unit.</param>
/// <param name="help">One sentence.</param>
internal abstract class Option(string name, string defaultText, string form, string help)
{
    public string Name { get; } = name;

    /// <summary>The name without its section.</summary>
    public string LastName => Name[(Name.LastIndexOf(':') + 1)..];

    public string DefaultText { get; } = defaultText;

    public string Form { get; } = form;

    public string Help { get; } = help;
}
