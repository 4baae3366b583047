using System.Collections.Frozen;
using System.Globalization;
using System.Text;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Options;

/// <summary>Parsers of option values. Each throws <see cref="FormatException"/> with what was expected. Any thread.</summary>
internal static class ValueParser
{
    private static readonly (string Suffix, double Seconds)[] s_durationUnits =
        [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)];

    /// <summary>The system's limit is 107 (unix(7)); the rest is for the suffix of a path that is not published yet.</summary>
    private const int MaxSocketPathBytes = 90;

    private static readonly string[] s_clockFormats = [@"h\:mm\:ss", @"h\:mm\:ss\.FFFFFFF"];
    private static readonly string[] s_upgradesOfHttp = ["h2c", "h2", "http", "tls"];
    private static readonly (string Suffix, long Bytes)[] s_sizeUnits = [("KiB", 1L << 10), ("MiB", 1L << 20), ("GiB", 1L << 30)];

    /// <summary>A duration: <c>500ms</c>, <c>60s</c>, <c>5m</c>, <c>1h</c>, <c>7d</c>, a bare number of seconds, or <c>hh:mm:ss</c>.</summary>
    public static TimeSpan Duration(string text, TimeSpan minimum, TimeSpan maximum)
    {
        TimeSpan value = ParseDuration(text) ?? throw new FormatException("expected a duration such as 500ms, 60s, 5m, 1h or 00:01:00.");
        return value >= minimum && value <= maximum
            ? value
            : throw new FormatException($"expected {Describe(minimum)} to {Describe(maximum)}.");
    }

    /// <summary>A number of bytes: <c>65536</c>, <c>64KiB</c>, <c>256MiB</c>, <c>4GiB</c>.</summary>
    public static long Bytes(string text, long minimum, long maximum)
    {
        (string number, long factor) = (text, 1L);
        foreach ((string Suffix, long Bytes) unit in s_sizeUnits)
        {
            if (text.EndsWith(unit.Suffix, StringComparison.OrdinalIgnoreCase))
            {
                (number, factor) = (text[..^unit.Suffix.Length], unit.Bytes);
            }
        }

        return Number(number) is { } value && value <= long.MaxValue / factor && value * factor >= minimum && value * factor <= maximum
            ? value * factor
            : throw new FormatException($"expected {minimum} to {maximum} bytes, with or without KiB, MiB or GiB.");
    }

    public static int Count(string text, int minimum, int maximum) =>
        Number(text) is { } value && value >= minimum && value <= maximum
            ? (int)value
            : throw new FormatException($"expected a whole number from {minimum} to {maximum}.");

    /// <summary>A part of all: <c>0</c>, <c>0.01</c>, <c>1</c>.</summary>
    public static double Share(string text) =>
        double.TryParse(text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double value) && value is >= 0 and <= 1
            ? value
            : throw new FormatException("expected a number from 0 to 1, such as 0.01.");

    public static bool Flag(string text) => bool.TryParse(text, out bool value) ? value : throw new FormatException("expected true or false.");

    /// <summary>One of an enum's names; the framework would also take numbers and lists.</summary>
    public static T Choice<T>(string text)
        where T : struct, Enum =>
        Enum.GetNames<T>().Contains(text, StringComparer.OrdinalIgnoreCase)
            ? Enum.Parse<T>(text, ignoreCase: true)
            : throw new FormatException($"expected one of {string.Join(", ", Enum.GetNames<T>())}.");

    /// <summary>The path of a Unix socket, made absolute; <see langword="null"/> for none.</summary>
    public static string? OptionalSocketPath(string text) => text.Length == 0 ? null
        : Path.GetFullPath(text) is var path && Encoding.UTF8.GetByteCount(path) <= MaxSocketPathBytes && !path.EndsWith('/') ? path
        : throw new FormatException($"expected the path of a file, of at most {MaxSocketPathBytes} bytes.");

    /// <summary>What may be a part of the name of a stream: letters, digits, <c>-</c> and <c>_</c>.</summary>
    public static string ClusterName(string text) =>
        text.Length is > 0 and <= 64 && text.All(static character => char.IsAsciiLetterOrDigit(character) || character is '-' or '_')
            ? text
            : throw new FormatException("expected 1 to 64 letters, digits, - and _.");

    public static string? OptionalCacheName(string text) =>
        text.Length == 0 ? null : CacheName.Is(text) ? text : throw new FormatException("expected a letter and up to 99 letters, digits, - _ . and others of a token.");

    /// <summary>Any number of statuses, separated by commas.</summary>
    public static IReadOnlySet<int> Statuses(string text, int minimum, int maximum) =>
        Items(text).Select(item => Number(item) is { } status && status >= minimum && status <= maximum
            ? (int)status
            : throw new FormatException($"expected statuses from {minimum} to {maximum}, separated by commas.")).ToFrozenSet();

    /// <summary>Any number of different names of request fields that a fetch may carry, separated by commas.</summary>
    public static string[] FetchFields(string text)
    {
        string[] names = Items(text);
        foreach (string name in names)
        {
            if (HeaderRules.RefusalOnFetch(name) is { } refusal)
            {
                throw new FormatException($"'{name}' cannot go with a fetch: {refusal}.");
            }
        }

        return names.Distinct(StringComparer.OrdinalIgnoreCase).Count() == names.Length
            ? names
            : throw new FormatException("expected different names.");
    }

    /// <summary>Any number of names of query parameters or cookies, separated by commas.</summary>
    public static NameList Names(string text) => Items(text) is var names && names.All(NameList.IsName)
        ? new(names)
        : throw new FormatException("expected names, separated by commas, each with a star only at its end.");

    /// <summary>Any number of names of protocols, separated by commas.</summary>
    public static string[] Upgrades(string text)
    {
        string[] names = Items(text);
        foreach (string name in names)
        {
            // RFC 9113 3.1, RFC 2817: the requests behind it would be the origin's alone, and nothing of ours would see them.
            if (!TokenText.Is(name) || s_upgradesOfHttp.Contains(name, StringComparer.OrdinalIgnoreCase))
            {
                throw new FormatException($"'{name}' is no protocol besides HTTP, such as websocket.");
            }
        }

        return names;
    }

    /// <summary>Any number of different content codings that can be made here, separated by commas.</summary>
    public static string[] Codings(string text) => Items(text.ToLowerInvariant()) is var names
        && names.All(static name => CodingChoice.CodingOf(name) is not null) && names.Distinct().Count() == names.Length
        ? names
        : throw new FormatException("expected some of br, gzip and zstd, separated by commas.");

    /// <summary>Any number of names of methods or fields, separated by commas.</summary>
    public static string[] Tokens(string text) => Items(text) is var names && names.All(static name => TokenText.Is(name))
        ? names
        : throw new FormatException("expected names of letters, digits and -, separated by commas.");

    /// <summary>Any number of hosts without ports, separated by commas; a star may stand in the place of the first label.</summary>
    public static string[] HostNames(string text) => Items(text.ToLowerInvariant()) is var names && names.All(IsHostName)
        ? names
        : throw new FormatException("expected hosts such as www.example.com or *.example.com, without ports, separated by commas.");

    /// <summary>Any number of web origins (RFC 6454), separated by commas; or a star alone, for all.</summary>
    public static string[] WebOrigins(string text) => Items(text) is var origins && (origins is ["*"] || origins.All(IsWebOrigin))
        ? origins
        : throw new FormatException("expected * or origins such as https://app.example:8443, without a path, separated by commas.");

    /// <summary>As the Host field has it: other letters are escaped there (RFC 5890), and IPv6 addresses are in brackets.</summary>
    private static bool IsHostName(string name) =>
        Uri.CheckHostName(name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name) is not UriHostNameType.Unknown and var type
        && name.All(char.IsAscii)
        && (type != UriHostNameType.IPv6 || name.StartsWith('['));

    private static bool IsWebOrigin(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && url.GetLeftPart(UriPartial.Authority).Equals(text, StringComparison.OrdinalIgnoreCase) && url.Host.Length > 0;

    private static string[] Items(string text) => text.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    private static TimeSpan? ParseDuration(string text)
    {
        if (text.Contains(':'))
        {
            // Exactly, because the framework reads 24:00:00 as 24 days.
            return TimeSpan.TryParseExact(text, s_clockFormats, CultureInfo.InvariantCulture, out TimeSpan clock) ? clock : null;
        }

        (string number, double factor) = (text, 1.0);
        foreach ((string Suffix, double Seconds) unit in s_durationUnits)
        {
            if (text.EndsWith(unit.Suffix, StringComparison.Ordinal))
            {
                // The first match wins: "ms" stands before "s".
                (number, factor) = (text[..^unit.Suffix.Length], unit.Seconds);
                break;
            }
        }

        const NumberStyles Style = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint;
        return double.TryParse(number, Style, CultureInfo.InvariantCulture, out double value)
            && Math.Abs(value * factor) < TimeSpan.MaxValue.TotalSeconds
            ? TimeSpan.FromSeconds(value * factor)
            : null;
    }

    private static string Describe(TimeSpan value) =>
        value.TotalSeconds is > 0 and < 1 ? $"{value.TotalMilliseconds:0}ms" : $"{value.TotalSeconds:0}s";

    private static long? Number(string text) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long value) ? value : null;
}

/// <summary>The text that <see cref="ValueParser"/> reads as a given value. Any thread.</summary>
internal static class ValueText
{
    public static string Of(object? value) => value switch
    {
        null => "",
        TimeSpan duration => string.Create(CultureInfo.InvariantCulture, $"{duration.TotalSeconds:0.#######}s"),
        IEnumerable<string> names => string.Join(',', names),
        IEnumerable<int> statuses => string.Join(',', statuses),
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };
}
