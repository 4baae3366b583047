using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Reads a reference in an origin's answer back into a target: the reverse of how a request's URL is made. All addresses of the origin hold
/// the same objects, so a reference may name any of them. Immutable; any thread.
/// </summary>
/// <param name="baseUrls">Absolute, without a trailing slash.</param>
internal sealed class KeySpace(IReadOnlyList<string> baseUrls)
{
    private static readonly UriCreationOptions s_rawBytes = new() { DangerousDisablePathAndQueryCanonicalization = true };

    private readonly Uri[] _bases = [.. baseUrls.Select(url => new Uri(url + "/", s_rawBytes))];

    /// <summary>
    /// The target that a URI reference (RFC 3986 4.1) names, seen from the object at <paramref name="target"/>; false for another origin's,
    /// and for what lies outside the base URLs.
    /// </summary>
    public bool TryGetTarget(string target, string reference, [NotNullWhen(true)] out string? named)
    {
        foreach (Uri @base in _bases)
        {
            string root = @base.PathAndQuery;
            if (TryResolve(@base, root + target, reference.Split('#')[0]) is { } path
                && path.StartsWith(root, StringComparison.Ordinal))
            {
                named = path[root.Length..];
                return true;
            }
        }

        named = null;
        return false;
    }

    /// <summary>
    /// Path and query of the reference at this origin, byte for byte (RFC 3986 5.2.2); <see langword="null"/> if it is at another.
    /// </summary>
    private static string? TryResolve(Uri @base, string current, string reference)
    {
        if (reference.StartsWith("//", StringComparison.Ordinal) || HasScheme(reference))
        {
            string absolute = reference[0] == '/' ? $"{@base.Scheme}:{reference}" : reference;
            return Uri.TryCreate(absolute, s_rawBytes, out Uri? url)
                && Uri.Compare(url, @base, UriComponents.SchemeAndServer, UriFormat.Unescaped, StringComparison.OrdinalIgnoreCase) == 0
                ? RemoveDotSegments(url.PathAndQuery)
                : null;
        }

        string path = current.Split('?')[0];
        return reference switch
        {
            "" => current,
            ['/', ..] => RemoveDotSegments(reference),
            ['?', ..] => path + reference,
            _ => RemoveDotSegments(path[..(path.LastIndexOf('/') + 1)] + reference),
        };
    }

    private static bool HasScheme(string reference) =>
        reference.IndexOf(':') is var colon and > 0 && reference.AsSpan(0, colon).IndexOfAny("/?") < 0;

    /// <summary>RFC 3986 5.2.4. A target holds none: requests with them are refused.</summary>
    private static string RemoveDotSegments(string pathAndQuery)
    {
        int end = pathAndQuery.IndexOf('?');
        string[] segments = (end < 0 ? pathAndQuery : pathAndQuery[..end]).Split('/');
        List<string> kept = new(segments.Length);
        for (int index = 1; index < segments.Length; index++)
        {
            if (segments[index] == ".." && kept.Count > 0)
            {
                kept.RemoveAt(kept.Count - 1);
            }

            bool isDots = segments[index] is "." or "..";
            if (!isDots || index == segments.Length - 1)
            {
                kept.Add(isDots ? "" : segments[index]);
            }
        }

        return $"/{string.Join('/', kept)}{(end < 0 ? "" : pathAndQuery[end..])}";
    }
}
