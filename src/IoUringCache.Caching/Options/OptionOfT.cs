namespace IoUringCache.Caching.Options;

/// <summary>One typed option. Immutable; any thread.</summary>
/// <param name="name">Configuration key.</param>
/// <param name="defaultText">Default, as a user would write it.</param>
/// <param name="form">What a value looks like, with its unit.</param>
/// <param name="help">One sentence.</param>
/// <param name="parse">Makes the value; throws <see cref="FormatException"/> with what was expected.</param>
internal sealed class Option<T>(string name, string defaultText, string form, string help, Func<string, T> parse)
    : Option(name, defaultText, form, help)
{
    /// <summary>The value that a section of its own has for it, or else the general one.</summary>
    /// <param name="section">Path of the section.</param>
    /// <param name="configuration">All of it.</param>
    /// <exception cref="OptionException">The configured text is not a value of this option; the message names the one that was read.</exception>
    public T ReadFor(string section, IConfiguration configuration)
    {
        string name = $"{section}:{LastName}";
        return configuration[name] is null ? Read(configuration) : new Option<T>(name, DefaultText, Form, Help, parse).Read(configuration);
    }

    /// <summary>The configured value, or the default where the configuration has none.</summary>
    /// <exception cref="OptionException">The configured text is not a value of this option.</exception>
    public T Read(IConfiguration configuration)
    {
        string text = configuration[Name] ?? DefaultText;
        try
        {
            return parse(text.Trim());
        }
        catch (FormatException failure)
        {
            throw new OptionException($"Option {Name}: '{text}' is not valid: {failure.Message}");
        }
    }
}
