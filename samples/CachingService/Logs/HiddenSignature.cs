using System.Diagnostics.CodeAnalysis;
using System.Text;
using CachingService.Options;

namespace CachingService.Logs;

/// <summary>Takes the signatures of signed URLs out of what a log says: until a URL expires, its signature is good for each reader of the log. Any thread.</summary>
internal static class HiddenSignature
{
    private const string Start = SignedUrlKeys.Signature + "=";

    /// <summary>The word of OpenTelemetry's conventions.</summary>
    private const string Hidden = "REDACTED";

    /// <returns>The same with another word as the value of each parameter that is named as a signature.</returns>
    [return: NotNullIfNotNull(nameof(url))]
    public static string? Replace(string? url)
    {
        if (url?.Contains(Start, StringComparison.Ordinal) != true)
        {
            return url;
        }

        StringBuilder text = new(url.Length);
        ReadOnlySpan<char> rest = url;
        for (int start; (start = rest.IndexOf(Start, StringComparison.Ordinal)) >= 0;)
        {
            bool isParameter = start > 0 && rest[start - 1] is ('?' or '&');
            text.Append(rest[..(start + Start.Length)]);
            rest = rest[(start + Start.Length)..];
            if (isParameter)
            {
                int end = rest.IndexOf('&');
                text.Append(Hidden);
                rest = end < 0 ? [] : rest[end..];
            }
        }

        return text.Append(rest).ToString();
    }
}
