namespace IoUringCache.Caching;

/// <summary>
/// How the responses of one route are cached: its keys, and what differs from the options of the whole cache. Read once, when the route is
/// mapped.
/// </summary>
/// <example><code>
/// app.MapStreamingCache("/{**path}", "http://origin:9000", route =>
/// {
///     route.DefaultTtl = TimeSpan.FromMinutes(1);
///     route.IgnoredQueryParameters.Add("utm_source");
/// });
/// </code></example>
public sealed class StreamingCacheRouteOptions
{
    /// <summary>
    /// Lifetime of a response that is no error, whatever its <c>max-age</c>, <c>s-maxage</c> or <c>Expires</c> say; <c>no-store</c>,
    /// <c>no-cache</c> and <c>private</c> count. Zero to 365 days. Defaults to <see langword="null"/>: as <c>Cache:ForcedTtl</c> says.
    /// </summary>
    public TimeSpan? ForcedTtl { get; set; }

    /// <summary>
    /// Lifetime of a 200 response whose <c>Cache-Control</c> and <c>Expires</c> give none (RFC 9111 section 4.2.1). Zero to 365 days.
    /// Defaults to <see langword="null"/>: as <c>Cache:DefaultTtl</c> says.
    /// </summary>
    public TimeSpan? DefaultTtl { get; set; }

    /// <summary>
    /// How long an expired object is served while it is fetched anew, where its <c>Cache-Control</c> does not say (RFC 5861 section 3). Zero to
    /// 365 days. Defaults to <see langword="null"/>: as <c>Cache:StaleWhileRevalidate</c> says.
    /// </summary>
    public TimeSpan? StaleWhileRevalidate { get; set; }

    /// <summary>
    /// How long an expired object is served if the origin fails, where its <c>Cache-Control</c> does not say (RFC 5861 section 4). Zero to
    /// 365 days. Defaults to <see langword="null"/>: as <c>Cache:StaleIfError</c> says.
    /// </summary>
    public TimeSpan? StaleIfError { get; set; }

    /// <summary>
    /// How long a request waits for the headers of another one's fetch before it gets 503; the fetch goes on. Zero, for as long as it takes, to
    /// an hour. Defaults to <see langword="null"/>: as <c>Cache:HoldTime</c> says.
    /// </summary>
    public TimeSpan? HoldTime { get; set; }

    /// <summary>
    /// Whether requests for one object share one fetch. Defaults to <see langword="null"/>: as <c>Cache:Coalesce</c> says.
    /// </summary>
    public bool? Coalesce { get; set; }

    /// <summary>
    /// Whether fetches carry the place in a trace (W3C Trace Context). Defaults to <see langword="null"/>: as <c>Cache:PassTrace</c> says.
    /// </summary>
    public bool? PassTrace { get; set; }

    /// <summary>
    /// Lowest rate at which a client must read a body, in bytes per second; 0 is none. Defaults to <see langword="null"/>: as
    /// <c>Cache:MinReaderRate</c> says.
    /// </summary>
    public long? MinReaderRate { get; set; }

    /// <summary>
    /// Whether all hosts have the same objects. Defaults to false: the key begins with the host. Where a key has the host, limit the hosts
    /// that are served (<c>AllowedHosts</c>, <c>RequireHost</c>): each name that a client makes up is a fetch.
    /// </summary>
    public bool IgnoreHost { get; set; }

    /// <summary>
    /// Whether an HTTP origin gets the client's <c>Host</c>; otherwise its own. Defaults to false. Not together with
    /// <see cref="IgnoreHost"/>: one client's host would choose the answer for all.
    /// </summary>
    public bool PreserveHost { get; set; }

    /// <summary>Whether the query does not count: it is neither in the key nor sent to the origin. Defaults to false.</summary>
    public bool IgnoreQuery { get; set; }

    /// <summary>
    /// The only query parameters that count, by their names as they come over the wire, with their case; <c>*</c> at the end of a name stands for
    /// whatever follows. Others are neither in the key nor sent to the origin. Defaults to none: all count.
    /// </summary>
    public ISet<string> QueryParameters { get; } = new HashSet<string>(StringComparer.Ordinal);

    /// <summary>Query parameters that do not count, by their names in the same form, such as <c>utm_*</c>. Defaults to none.</summary>
    public ISet<string> IgnoredQueryParameters { get; } = new HashSet<string>(StringComparer.Ordinal);

    /// <summary>
    /// Whether the order of query parameters with different names does not count: key and origin get them by name. Defaults to false.
    /// </summary>
    public bool SortQuery { get; set; }

    /// <summary>
    /// Cookies by their names, with their case and <c>*</c> as above, that count as not sent with a GET or HEAD: they neither keep it from the cache
    /// (<see cref="CookieUse"/>) nor reach the origin. <c>*</c> alone is all of them. Defaults to none.
    /// </summary>
    public ISet<string> IgnoredCookies { get; } = new HashSet<string>(StringComparer.Ordinal);

    /// <summary>
    /// Cookies by their names, in the same form, whose values are part of the key and go with a fetch to the origin, even if they are among
    /// <see cref="IgnoredCookies"/>; of more than 1 KiB together they count as any other. Defaults to none.
    /// </summary>
    public ISet<string> KeyCookies { get; } = new HashSet<string>(StringComparer.Ordinal);

    /// <summary>
    /// Request fields whose values are part of the key, and go with a fetch to the origin. No credentials, conditions, or fields that name
    /// another host, target or method. Defaults to none; by a response's <c>Vary</c> it differs anyway.
    /// </summary>
    public ISet<string> KeyFields { get; } = new HashSet<string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// First segments of the path that the origin does not get, for example <c>/object/</c>; with a slash at both ends. They stay in the key.
    /// Defaults to <c>/</c>: it gets all of the path. For HTTP origins and directories.
    /// </summary>
    public string StripPathPrefix { get; set; } = "/";
}
