using IoUringCache.Caching.Options;
namespace CachingService.Options;

/// <summary>
/// Reads <c>--Name value</c> and <c>--Name=value</c>. Unlike the framework's reader it refuses what it does not know. Any thread.
/// </summary>
internal static class CommandLine
{
    /// <summary>Sections of the framework, whose keys it checks itself.</summary>
    private static readonly string[] s_frameworkSections = ["Logging:", "Kestrel:"];

    public static bool AsksForHelp(string[] args) => args.Any(argument => argument is "--help" or "-h" or "-?");

    /// <exception cref="OptionException">An argument is no option, is unknown, a secret, has no value, or is given twice.</exception>
    public static Dictionary<string, string?> Parse(string[] args)
    {
        Dictionary<string, string?> values = new(StringComparer.OrdinalIgnoreCase);
        for (int index = 0; index < args.Length; index++)
        {
            string argument = args[index];
            if (!argument.StartsWith("--", StringComparison.Ordinal))
            {
                throw new OptionException($"'{argument}' is not an option: options are written --Name value or --Name=value.");
            }

            int separator = argument.IndexOf('=');
            string name = separator < 0 ? argument[2..] : argument[2..separator];
            if (!IsKnown(name))
            {
                throw new OptionException($"Option --{name} is not known. Run with --help for the list.");
            }

            if (name.Equals(OptionCatalog.AdminToken.Name, StringComparison.OrdinalIgnoreCase))
            {
                throw new OptionException(
                    $"Option --{name} must not be on the command line, which everybody on this machine can read: use the environment "
                    + $"({name.Replace(":", "__", StringComparison.Ordinal)}) or --{OptionCatalog.AdminTokenFile.Name}.");
            }

            if (separator < 0 && ++index == args.Length)
            {
                throw new OptionException($"Option --{name} has no value.");
            }

            if (!values.TryAdd(name, separator < 0 ? args[index] : argument[(separator + 1)..]))
            {
                throw new OptionException($"Option --{name} is given twice.");
            }
        }

        return values;
    }

    private static bool IsKnown(string name) =>
        OptionNames.Contain(name) || s_frameworkSections.Any(section => name.StartsWith(section, StringComparison.OrdinalIgnoreCase));
}
