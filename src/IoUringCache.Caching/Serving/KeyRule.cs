using IoUringCache.Caching.Http;
using IoUringCache.Caching.Origins;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Makes the key of a request, and what its origin is asked for: host, path and query as raw bytes, as far as a route counts them. What does not
/// count does not reach the origin either. Any thread; one per route.
/// </summary>
internal sealed class KeyRule
{
    private volatile KnownSite? _lastSite;

    /// <summary>Whether requests by http and https differ, where hosts do: an end point of this process sees which it was, and other origins do not.</summary>
    public bool CountsScheme { get; init; }

    public bool CountsHost { get; init; } = true;

    /// <summary>What keys have in its place where it does not count; empty: nothing.</summary>
    public string OneHost { get; init; } = "";

    public bool CountsQuery { get; init; } = true;

    /// <summary>The only query parameters that count; empty: all.</summary>
    public NameList Parameters { get; init; } = NameList.Empty;

    /// <summary>Query parameters that do not count.</summary>
    public NameList IgnoredParameters { get; init; } = NameList.Empty;

    /// <summary>Whether the order of parameters with different names does not count.</summary>
    public bool SortsParameters { get; init; }

    /// <summary>Request fields that count; a fetch carries them.</summary>
    public VaryRule Fields { get; init; } = VaryRule.None;

    /// <summary>Cookies that count, and that do not.</summary>
    public CookieRule Cookies { get; init; } = CookieRule.None;

    /// <summary>What the origin does not get of the path: its first bytes, with slashes at both ends.</summary>
    public string StrippedPrefix { get; init; } = "/";

    /// <summary>Whether keys have that prefix nevertheless.</summary>
    public bool CountsPrefix { get; init; } = true;

    /// <param name="context">Any request whose target is a path.</param>
    /// <returns>Valid; or what is wrong with the target.</returns>
    public TargetVerdict Read(HttpContext context, CacheRoute route, out ObjectAddress address)
    {
        address = default;
        HttpRequest request = context.Request;
        string raw = context.Features.Find<IHttpRequestFeature>()?.RawTarget is { Length: > 0 } target
            ? target
            : request.PathBase.Add(request.Path).ToUriComponent() + request.QueryString;
        TargetVerdict verdict = RequestTarget.Check(raw, out string pathAndQuery);
        return verdict != TargetVerdict.Valid || TryFind(request, pathAndQuery, route, out address) ? verdict : TargetVerdict.Malformed;
    }

    /// <param name="pathAndQuery">Of its target, which is valid.</param>
    /// <returns>Whether it is for the route, by its prefix.</returns>
    public bool TryFind(HttpRequest request, string pathAndQuery, CacheRoute route, out ObjectAddress address)
    {
        address = default;
        if (!pathAndQuery.StartsWith(StrippedPrefix, StringComparison.Ordinal))
        {
            return false;
        }

        string asked = WithCountedQuery(pathAndQuery);
        string target = asked[StrippedPrefix.Length..];
        string fields = Fields.Fields.Count == 0 ? "" : $"{Fields.KeyOf(request.Headers)} ";
        string? cookies = null;
        bool mustPass = !Cookies.IsNone && !Cookies.TryTake(request, out cookies);
        if (cookies is not null)
        {
            fields = $"{fields}cookie={cookies}{KeyPrefixes.EndOfParts}";
        }

        string site = SiteOf(request);
        address = new(route, string.Concat(fields, site, CountsPrefix ? asked : target), target) { Site = site, Cookies = cookies, MustPass = mustPass };
        return true;
    }

    /// <summary>What of scheme and host counts; mostly that of the request before.</summary>
    private string SiteOf(HttpRequest request)
    {
        if (!CountsHost)
        {
            return OneHost;
        }

        string host = request.Host.Value ?? "";
        KnownSite? known = _lastSite;
        if (known?.Host != host || known.Scheme != request.Scheme)
        {
            string scheme = CountsScheme ? $"{request.Scheme}://" : "";
            _lastSite = known = new(request.Scheme, host, $"{scheme}{HostOf(request)}");
        }

        return known.Text;
    }

    /// <summary>In lower case, and without the port that the scheme has anyway.</summary>
    private static string HostOf(HttpRequest request)
    {
        HostString host = request.Host;
        bool isUsual = host.Port is { } port && port == (request.IsHttps ? 443 : 80);
        return (isUsual ? host.Host : host.Value ?? "").ToLowerInvariant();
    }

    private string WithCountedQuery(string pathAndQuery)
    {
        int query = pathAndQuery.IndexOf('?');
        if (query < 0 || (CountsQuery && Parameters.IsEmpty && IgnoredParameters.IsEmpty && !SortsParameters))
        {
            return pathAndQuery;
        }

        string path = pathAndQuery[..query];
        if (!CountsQuery)
        {
            return path;
        }

        string[] counted = [.. pathAndQuery[(query + 1)..].Split('&').Where(IsCounted)];
        if (SortsParameters)
        {
            // Those of one name keep their order, which an origin may go by.
            counted = [.. counted.OrderBy(NameOf, StringComparer.Ordinal)];
        }

        return counted.Length == 0 ? path : $"{path}?{string.Join('&', counted)}";
    }

    private bool IsCounted(string parameter)
    {
        string name = NameOf(parameter);
        return (Parameters.IsEmpty || Parameters.Contains(name)) && !IgnoredParameters.Contains(name);
    }

    private static string NameOf(string parameter) => parameter.Split('=')[0];

    /// <summary>Scheme and host as they came, and what they add to a key.</summary>
    private sealed record KnownSite(string Scheme, string Host, string Text);
}
