using System.Diagnostics.CodeAnalysis;
using System.Text.RegularExpressions;
using CachingService.Options;

namespace CachingService.Logs;

/// <summary>Takes the signatures of signed URLs out of what a log says: until a URL expires, its signature is good for each reader of the log. Any thread.</summary>
internal static partial class HiddenSignature
{
    private const string Start = SignedUrlKeys.Signature + "=";

    /// <summary>The word of OpenTelemetry's conventions.</summary>
    private const string Hidden = "REDACTED";

    /// <returns>The same with another word as the value of each parameter that is named as a signature.</returns>
    [return: NotNullIfNotNull(nameof(url))]
    public static string? Replace(string? url) =>
        url?.Contains(Start, StringComparison.Ordinal) == true ? Parameter().Replace(url, "$1" + Hidden) : url;

    [GeneratedRegex("([?&]" + Start + ")[^&]*")]
    private static partial Regex Parameter();
}
