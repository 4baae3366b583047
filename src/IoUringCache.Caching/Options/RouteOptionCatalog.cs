namespace IoUringCache.Caching.Options;

/// <summary>
/// The options that say which requests a route of the service is for, and what it does beside the cache; as <see cref="OptionCatalog"/>. Those
/// that also hold where no route is named come first. Immutable; any thread.
/// </summary>
internal static class RouteOptionCatalog
{
    public static readonly Option<string?> OriginHost = new(
        "Cache:OriginHost", "", "host[:port]", "Host that the origin gets in the place of the one in its URL. Empty: that one, or the client's with Cache:PassHost.",
        AddressParser.OptionalAuthority);

    public static readonly Option<bool> RewriteLocations = OptionCatalog.Flag(
        "Cache:RewriteLocations", "Whether Location and Content-Location that name the origin's own URL, and the Domain of its cookies, are made to name the service's.",
        defaultText: "true");

    public static readonly Option<FieldList> ResponseFields = new(
        "Cache:ResponseFields", "", "Name: value[|Name: value...]",
        "Fields that each response gets, in the place of the origin's; without a value the field is left out: X-Frame-Options: DENY|Server:",
        FieldList.Parse);

    public static readonly Option<PeerList> AllowFrom = OptionCatalog.Peers(
        "Cache:AllowFrom", "The only clients that are served; others get 403. Empty: all.");

    public static readonly Option<PeerList> DenyFrom = OptionCatalog.Peers(
        "Cache:DenyFrom", "Clients that get 403, even if they are in Cache:AllowFrom. Empty: none.");

    public static readonly Option<string[]> CorsOrigins = new(
        "Cache:CorsOrigins", "", "*|origin[,origin...]",
        "Web origins, such as https://app.example, whose scripts may read responses; the service answers preflights itself. Empty: as the origin says.",
        ValueParser.WebOrigins);

    public static readonly Option<string[]> CorsMethods = new(
        "Cache:CorsMethods", "GET,HEAD,POST", "method[,method...]", "Methods that these may use.", ValueParser.Tokens);

    public static readonly Option<string[]> CorsFields = new(
        "Cache:CorsFields", "", "*|name[,name...]", "Request fields that these may set, besides those that each may.", ValueParser.Tokens);

    public static readonly Option<string[]> CorsExposedFields = new(
        "Cache:CorsExposedFields", "", "name[,name...]", "Response fields that these may read, besides those that each may.", ValueParser.Tokens);

    public static readonly Option<bool> CorsCredentials = OptionCatalog.Flag(
        "Cache:CorsCredentials", "Whether these may send cookies and credentials; not with * as Cache:CorsOrigins.");

    public static readonly Option<TimeSpan> CorsMaxAge = OptionCatalog.Duration(
        "Cache:CorsMaxAge", "10m", TimeSpan.Zero, TimeSpan.FromDays(1), "How long a browser may keep the answer to a preflight.");

    public static readonly Option<string?> ErrorPageDirectory = OptionCatalog.OptionalText(
        "Cache:ErrorPages", "directory",
        "Directory with bodies of the service's own errors: 503.html, else 5xx.html, and 404.html, else 4xx.html. Empty: no bodies.");

    /// <summary>Of the first route; the others are numbered on.</summary>
    public static readonly Option<string[]> Hosts = new(
        "Cache:Routes:0:Hosts", "", "host[,host...]",
        "Hosts that a route is for; *.example.com is each host below. It comes before routes without hosts. Empty: all hosts.",
        ValueParser.HostNames);

    /// <inheritdoc cref="Hosts"/>
    public static readonly Option<string> Prefix = OptionCatalog.Text(
        "Cache:Routes:0:Prefix", "path",
        "First part of the paths that a route is for: what follows Cache:PublicPath or, with a slash in front, the whole path. The longest wins.");

    /// <inheritdoc cref="Hosts"/>
    public static readonly Option<bool> StripPrefix = OptionCatalog.Flag(
        "Cache:Routes:0:StripPrefix", "Whether the route's origin gets paths without the prefix, which ends with a slash then.");

    /// <summary>Those of the service's section, in the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> General =
    [
        OriginHost, RewriteLocations, ResponseFields, AllowFrom, DenyFrom, CorsOrigins, CorsMethods, CorsFields, CorsExposedFields, CorsCredentials, CorsMaxAge,
        .. RateLimitOptionCatalog.All, .. SignedUrlOptionCatalog.All, ErrorPageDirectory,
    ];

    /// <summary>Those that only a route has.</summary>
    public static readonly IReadOnlyList<Option> Place = [Hosts, Prefix, StripPrefix];
}
