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

    /// <param name="name">Where the text stands: the option's name, or that in a section of its own.</param>
    /// <exception cref="OptionException">The text is not a value of this option.</exception>
    public abstract object? Parse(string name, string text);
}

/// <summary>One typed option. Its last parameter makes a value; it throws <see cref="FormatException"/> with what was expected.</summary>
/// <inheritdoc cref="Option"/>
internal sealed class Option<T>(string name, string defaultText, string form, string help, Func<string, T> parse)
    : Option(name, defaultText, form, help)
{
    /// <summary>Where nobody has set it.</summary>
    public T Default { get; } = parse(defaultText);

    /// <summary>The configured value, or the default where the configuration has none.</summary>
    /// <exception cref="OptionException">The configured text is not a value of this option.</exception>
    public T Read(IConfiguration configuration) => configuration[Name] is { } text ? ParseTyped(Name, text) : Default;

    public override object? Parse(string name, string text) => ParseTyped(name, text);

    private T ParseTyped(string name, string text)
    {
        if (text.Contains('\0'))
        {
            // No path can have one: opening it would fail by an ArgumentException, which is not caught as a fault of a file.
            throw new OptionException($"Option {name}: is not valid: it has a NUL character.") { Name = name };
        }

        try
        {
            return parse(text.Trim());
        }
        catch (FormatException failure)
        {
            throw new OptionException($"Option {name}: '{text}' is not valid: {failure.Message}") { Name = name };
        }
    }
}

/// <summary>An option that the service cannot start with. The message names the option and says what it takes.</summary>
internal sealed class OptionException(string message) : Exception(message)
{
    /// <summary>Whose value or name is wrong, where it is one option's alone.</summary>
    public string? Name { get; init; }
}
