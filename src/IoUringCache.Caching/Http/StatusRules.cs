namespace IoUringCache.Caching.Http;

/// <summary>
/// What a status means for caching. 206 and 304 are in none of the sets: a fill asks for the whole object without conditions, so they
/// never answer it. Parts are stored as slices only, by rules of their own (<see cref="SliceMark"/>). Any thread.
/// </summary>
internal static class StatusRules
{
    /// <summary>May be given a lifetime where the origin gives none (RFC 9110 15.1).</summary>
    public static bool IsHeuristicallyCacheable(int status) =>
        status is 200 or 203 or 204 or 300 or 301 or 308 or 404 or 405 or 410 or 414 or 501;

    /// <summary>
    /// This cache knows what the status asks of caches, so that <c>must-understand</c> is met (RFC 9111 5.2.2.3): those that
    /// RFC 9110 15 defines.
    /// </summary>
    public static bool IsUnderstood(int status) => status is
        (>= 200 and <= 205) or (>= 300 and <= 303) or 307 or 308
        or (>= 400 and <= 417) or 421 or 422 or 426 or (>= 500 and <= 505);

    /// <summary>Answers a request for the whole object without conditions; the others answer another question.</summary>
    public static bool IsWholeAnswer(int status) =>
        status is not (StatusCodes.Status206PartialContent or StatusCodes.Status304NotModified or StatusCodes.Status416RangeNotSatisfiable);

    /// <summary>The origin says that it has failed.</summary>
    public static bool IsServerError(int status) => status >= StatusCodes.Status500InternalServerError;
}
