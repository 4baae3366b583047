namespace IoUringCache.Caching.Http;

/// <summary>
/// What a request method means to a cache. Names are compared without regard to case, because the HTTP stack towards the origin sends the
/// standard ones in capitals however they came: <c>trace</c> would arrive as <c>TRACE</c>. Any thread.
/// </summary>
internal static class MethodRules
{
    /// <summary>For <c>Allow</c>: those that are understood; unknown ones go through too.</summary>
    public const string Allowed = "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE";

    /// <summary>For <c>Allow</c>, where this service is the origin.</summary>
    public const string AllowedOfFiles = "GET, HEAD";

    /// <summary>Registered as safe (RFC 9110 16.1.1); all others may change something, those nobody has heard of included.</summary>
    private static readonly HashSet<string> s_safe = new(StringComparer.OrdinalIgnoreCase)
    {
        HttpMethods.Get, HttpMethods.Head, HttpMethods.Options, "PROPFIND", "QUERY", "REPORT", "SEARCH",
    };

    /// <summary>True where the request may be repeated and leaves what is stored as it is (RFC 9110 9.2.1).</summary>
    public static bool IsSafe(string method) => s_safe.Contains(method);
}
