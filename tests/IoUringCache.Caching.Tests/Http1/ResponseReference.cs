using System.Globalization;
using System.Text.RegularExpressions;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>A second, slow reading of RFC 9112 for all that comes on a connection after one request, to compare the client with.</summary>
internal static partial class ResponseReference
{
    private const int MaxInterimHeads = 32;

    /// <param name="received">All that comes, one character for each byte.</param>
    /// <param name="isHead">Whether the request was a HEAD.</param>
    /// <param name="hasEnded">Whether the connection ends behind it.</param>
    /// <returns>Status and body, and whether the connection may be used again; <see langword="null"/> for a fault.</returns>
    public static (string Answer, bool IsKept)? Read(string received, bool isHead, bool hasEnded)
    {
        Match head = Head().Match(received);
        for (int interim = 0; head.Success && head.Groups["status"].Value is var status && status[0] == '1' && status != "101"; interim++)
        {
            if (interim == MaxInterimHeads)
            {
                return null;
            }

            received = received[head.Length..];
            head = Head().Match(received);
        }

        if (!head.Success || head.Length > HeadParser.MaxBytes)
        {
            return null;
        }

        string rest = received[head.Length..];
        string[] lengths = ValuesOf(head, "content-length");
        string[] codings = ValuesOf(head, "transfer-encoding");
        bool isOld = head.Groups["minor"].Value == "0";
        long length = 0;
        bool isSound = codings.Length > 0
            ? codings is [var coding] && coding.Equals("chunked", StringComparison.OrdinalIgnoreCase) && lengths.Length == 0 && !isOld
            : lengths.Length == 0
                || (lengths is [var digits] && Digits().IsMatch(digits) && long.TryParse(digits, CultureInfo.InvariantCulture, out length));
        if (!isSound)
        {
            return null;
        }

        string code = head.Groups["status"].Value;
        bool asksToClose = ValuesOf(head, "connection").SelectMany(value => value.Split(','))
            .Any(option => option.Trim(' ', '\t').Equals("close", StringComparison.OrdinalIgnoreCase));
        bool mayBeKept = !isOld && !asksToClose && !hasEnded && (code != "204" || (codings.Length == 0 && length == 0));
        if (isHead || code is "204" or "304")
        {
            return ($"{code} ", mayBeKept && rest.Length == 0);
        }

        if (codings.Length > 0)
        {
            (string body, int end, Http1Fault? fault) = ChunkedReference.Read(rest);
            return fault is null ? ($"{code} {body}", mayBeKept && end == rest.Length) : null;
        }

        if (lengths.Length > 0)
        {
            return rest.Length < length ? null : ($"{code} {rest[..(int)length]}", mayBeKept && rest.Length == length);
        }

        return hasEnded ? ($"{code} {rest}", false) : null;
    }

    private static string[] ValuesOf(Match head, string name) =>
    [
        .. head.Groups["name"].Captures.Zip(head.Groups["value"].Captures)
            .Where(field => field.First.Value.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(field => field.Second.Value.Trim(' ', '\t')),
    ];

    [GeneratedRegex(
        @"\AHTTP/1\.(?<minor>[0-9]) (?<status>[1-9][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*)?\r\n"
        + @"(?:(?<name>[!#$%&'*+\-.^_`|~0-9a-zA-Z]+):(?<value>[\t\x20-\x7e\x80-\xff]*)\r\n)*\r\n",
        RegexOptions.CultureInvariant)]
    private static partial Regex Head();

    [GeneratedRegex(@"\A[0-9]+\z", RegexOptions.CultureInvariant)]
    private static partial Regex Digits();
}
