using System.Globalization;
using System.Reflection;
using System.Text.RegularExpressions;

namespace IoUringCache.Transport.Tests.Parity;

/// <summary>Turns names of tests into sentences. <c>Client_SendsFin_ReaderCompletes</c> reads "Client sends FIN: reader completes".</summary>
internal static partial class ScenarioWords
{
    private static readonly Dictionary<string, string> s_spellings = new()
    {
        ["fin"] = "FIN",
        ["rst"] = "RST",
        ["http"] = "HTTP",
        ["http1"] = "HTTP/1.1",
        ["http2"] = "HTTP/2",
        ["https"] = "HTTPS",
        ["tls"] = "TLS",
        ["ipv4"] = "IPv4",
        ["ipv6"] = "IPv6",
        ["json"] = "JSON",
        ["unix"] = "Unix",
        ["kestrels"] = "Kestrel's",
        ["dns"] = "DNS",
    };

    /// <summary>The scenario of a test and one row of its data, the transport left out.</summary>
    internal static string Of(string testName, ParameterInfo[] parameters, object?[] values)
    {
        // The subject stays as it is written: it is often the name of a member of the interface.
        string[] parts = testName.Split('_');
        string outcome = Lower(parts[^1]);
        string state = parts.Length > 2 ? $" {string.Join(' ', parts[1..^1].Select(Lower))}" : "";
        string data = string.Join(", ", parameters.Zip(values, Describe));
        return $"{parts[0]}{state}: {outcome}{(data.Length > 0 ? $" ({data})" : "")}";
    }

    /// <summary>The subject of a class of tests: "Connections: ending" for <c>Connections.ConnectionEndingParityTests</c>.</summary>
    internal static string AreaOf(Type type)
    {
        string folder = type.Namespace!.Split('.')[^1];
        string name = type.Name.Replace("ParityTests", "", StringComparison.Ordinal).Replace("Tests", "", StringComparison.Ordinal);
        return $"{folder}: {Lower(name)}";
    }

    private static string Describe(ParameterInfo parameter, object? value) => value switch
    {
        null => $"{Lower(parameter.Name!)} none",
        string text => text,
        Enum => Lower(value.ToString()!),
        _ => string.Create(CultureInfo.InvariantCulture, $"{Lower(parameter.Name!)} {value}"),
    };

    private static string Lower(string name) =>
        string.Join(' ', WordBorder().Split(name).Select(word => s_spellings.GetValueOrDefault(word.ToLowerInvariant(), word.ToLowerInvariant())));

    [GeneratedRegex("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=Of)(?=[0-9])")]
    private static partial Regex WordBorder();
}
