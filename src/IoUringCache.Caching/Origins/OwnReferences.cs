using System.Collections.Immutable;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// Makes what an origin says of its own place name the place of the cache, as its clients see it: <c>Location</c>, <c>Content-Location</c> and the
/// domains of cookies. The client's scheme and host hold for all of it, since a response is for each of them. Immutable; any thread.
/// </summary>
/// <param name="baseUrls">Of the origin; absolute, without a trailing slash.</param>
/// <param name="publicPath">Path at which clients have what is at these URLs, with slashes at both ends.</param>
internal sealed class OwnReferences(IReadOnlyList<string> baseUrls, string publicPath)
{
    private const string Domain = "domain=";

    private readonly KeySpace _origin = new(baseUrls);
    private readonly string[] _hosts = [.. baseUrls.Select(static url => new Uri(url).Host)];

    /// <summary>What a reference then names, for the invalidation of objects.</summary>
    public KeySpace Public { get; } = new([$"http://localhost{publicPath.TrimEnd('/')}"]);

    /// <param name="target">That the origin was asked for.</param>
    /// <param name="head">Of its answer; the same is returned if there is nothing to change.</param>
    public ResponseHead Rewrite(string target, ResponseHead head)
    {
        ImmutableArray<HeaderField>.Builder? changed = null;
        for (int index = 0; index < head.Fields.Length; index++)
        {
            HeaderField field = head.Fields[index];
            StringValues values =
                Is(field, HeaderNames.Location) || Is(field, HeaderNames.ContentLocation) ? Localize(target, field.Values)
                : Is(field, HeaderNames.SetCookie) ? Change(field.Values, WithoutDomain)
                : field.Values;
            if (values != field.Values)
            {
                changed ??= head.Fields.ToBuilder();
                changed[index] = new(field.Name, values);
            }
        }

        return changed is null ? head : new(head.StatusCode, changed.ToImmutable(), head.ContentLength);
    }

    private StringValues Localize(string target, StringValues references) => Change(references, reference => Localize(target, reference));

    /// <summary>What is relative to the target is so for clients too.</summary>
    private string Localize(string target, string reference)
    {
        if (!reference.StartsWith('/') && !reference.Contains("://", StringComparison.Ordinal))
        {
            return reference;
        }

        string fragment = reference.IndexOf('#') is >= 0 and var start ? reference[start..] : "";

        return _origin.TryGetTarget(target, reference, out string? named) && $"{publicPath}{named}{fragment}" is var local && !BeginsWithHost(local)
            ? local
            : reference;
    }

    /// <summary>Two slashes begin another host. Browsers take a backslash for one, and leave tabs out (URL standard, 4.4).</summary>
    private static bool BeginsWithHost(string reference) => reference.Replace("\t", "", StringComparison.Ordinal) is ['/', '/' or '\\', ..];

    /// <summary>Without a domain a cookie is for the host that the client has asked.</summary>
    private string WithoutDomain(string cookie) => !cookie.Contains(Domain, StringComparison.OrdinalIgnoreCase)
        ? cookie
        : string.Join(';', cookie.Split(';').Where((part, index) => index == 0 || !IsOwnDomain(part.Trim())));

    private bool IsOwnDomain(string attribute) =>
        attribute.StartsWith(Domain, StringComparison.OrdinalIgnoreCase)
        && attribute[Domain.Length..].TrimStart('.') is var domain
        && _hosts.Contains(domain, StringComparer.OrdinalIgnoreCase);

    private static StringValues Change(StringValues values, Func<string, string> change) =>
        values.Count == 1 ? change(values.ToString()) : new StringValues([.. values.Select(value => change(value ?? ""))]);

    private static bool Is(in HeaderField field, string name) => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase);
}
