using System.Diagnostics.CodeAnalysis;
using System.Text.RegularExpressions;
using CachingService.Options;

namespace CachingService.Logs;

/// <summary>Takes the signatures of signed URLs out of what a log says: until a URL expires, its signature is good for each reader of the log. Any thread.</summary>
internal static partial class HiddenSignature
{
    /// <summary>The word of OpenTelemetry's conventions.</summary>
    private const string Hidden = "REDACTED";

    /// <returns>
    /// The same with another word as the value of each parameter that is named as a signature, also in a URL that is a parameter of another one, and
    /// escaped there.
    /// </returns>
    [return: NotNullIfNotNull(nameof(url))]
    public static string? Replace(string? url) =>
        url?.Contains(SignedUrlKeys.Signature, StringComparison.Ordinal) == true ? Parameter().Replace(url, "$1" + Hidden) : url;

    [GeneratedRegex("((?:[?&]|%(?:25)*(?:3[Ff]|26))" + SignedUrlKeys.Signature + "(?:=|%(?:25)*3[Dd]))(?:(?!%(?:25)*26)[^&])*")]
    private static partial Regex Parameter();
}
