namespace CachingService.Options;

/// <summary>One typed option. Immutable; any thread.</summary>
/// <param name="name">Configuration key.</param>
/// <param name="defaultText">Default, as a user would write it.</param>
/// <param name="form">What a value looks like, with its unit.</param>
/// <param name="help">One sentence.</param>
/// <param name="parse">Makes the value; throws <see cref="FormatException"/> with what was expected.</param>
internal sealed class Option<T>(string name, string defaultText, string form, string help, Func<string, T> parse)
    : Option(name, defaultText, form, help)
{
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
