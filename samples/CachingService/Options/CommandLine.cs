using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>Reads <c>--Name value</c> and <c>--Name=value</c>. Unlike the framework's reader it refuses what it does not know. Any thread.</summary>
internal static class CommandLine
{
    /// <summary>Sections of the framework, whose keys it checks itself.</summary>
    private static readonly string[] s_frameworkSections = ["Logging:", "Kestrel:"];

    /// <summary>With the option that names a file in its place.</summary>
    private static readonly (Option Secret, Option File)[] s_secrets =
        [(OptionCatalog.AdminToken, OptionCatalog.AdminTokenFile), (SignedUrlOptionCatalog.Keys, SignedUrlOptionCatalog.KeysFile)];

    private static readonly string[] s_help = ["--help", "-h", "-?"];

    /// <summary>Has the options checked, and nothing started.</summary>
    private const string Check = "--check-config";

    /// <param name="topic">The word behind the question, of which the help is to be; empty: all.</param>
    public static bool AsksForHelp(string[] args, out string topic)
    {
        int index = Array.FindIndex(args, static argument => s_help.Contains(argument));
        topic = index >= 0 && index + 1 < args.Length && !args[index + 1].StartsWith('-') ? args[index + 1] : "";
        return index >= 0;
    }

    public static bool AsksForVersion(string[] args) => args.Contains("--version");

    public static bool AsksForCheck(string[] args, out string[] rest)
    {
        rest = [.. args.Where(static argument => argument != Check)];
        return rest.Length < args.Length;
    }

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
                throw new OptionException($"Option --{name} is not known.{OptionNames.Suggest(name)} Run with --help for the list.");
            }

            if (FileInPlaceOf(name) is { } file)
            {
                throw new OptionException(
                    $"Option --{name} must not be on the command line, which everybody on this machine can read: use the environment "
                    + $"({name.Replace(":", "__", StringComparison.Ordinal)}) or --{file}.");
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

    /// <returns>The name of the option that takes the place of a secret; <see langword="null"/> if it is none.</returns>
    private static string? FileInPlaceOf(string name)
    {
        string section = name[..(name.LastIndexOf(':') + 1)];
        return s_secrets
            .Where(option => name.AsSpan(section.Length).Equals(option.Secret.LastName, StringComparison.OrdinalIgnoreCase))
            .Select(option => section + option.File.LastName)
            .FirstOrDefault();
    }

    private static bool IsKnown(string name) =>
        OptionNames.Contain(name) || s_frameworkSections.Any(section => name.StartsWith(section, StringComparison.OrdinalIgnoreCase));
}
