using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Options;

/// <summary>The options by which the service makes keys of requests, and what its origin gets of them; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class KeyOptionCatalog
{
    public static readonly Option<string> PublicPath = new(
        "Cache:PublicPath", "/object/", "path", "Where the origin's objects are, with a slash at both ends; / for a whole site, but for /health.",
        AddressParser.PublicPath);

    public static readonly Option<bool> PassHost = OptionCatalog.Flag(
        "Cache:PassHost", "Whether the origin gets the client's Host, and each host has objects of its own.");

    public static readonly Option<bool> IgnoreQuery = OptionCatalog.Flag(
        "Cache:IgnoreQuery", "Whether the query does not count: it is neither in keys nor sent to the origin.");

    public static readonly Option<NameList> QueryParameters = new(
        "Cache:QueryParameters", "", "name[,name...]",
        "The only query parameters that count; others are neither in keys nor sent to the origin. lang* stands for all that begin so. Empty: all.",
        ValueParser.Names);

    public static readonly Option<NameList> IgnoredQueryParameters = new(
        "Cache:IgnoredQueryParameters", "", "name[,name...]", "Query parameters that do not count, such as utm_*,gclid,fbclid.", ValueParser.Names);

    public static readonly Option<bool> SortQuery = OptionCatalog.Flag(
        "Cache:SortQuery", "Whether the order of query parameters does not count: keys and the origin get them by name.");

    public static readonly Option<NameList> IgnoredCookies = new(
        "Cache:IgnoredCookies", "", "name[,name...]",
        "Cookies that count as not sent with a GET or HEAD, such as _ga*,_gid; the origin does not get them either. * is all of them.",
        ValueParser.Names);

    public static readonly Option<NameList> KeyCookies = new(
        "Cache:KeyCookies", "", "name[,name...]",
        "Cookies whose values are part of keys and go with a fetch, even if they are among the ignored ones. Few values, or few objects are shared.",
        ValueParser.Names);

    public static readonly Option<string[]> KeyFields = new(
        "Cache:KeyFields", "", "name[,name...]",
        "Request fields whose values are part of keys and go with a fetch. Few values, or few objects are shared.", ValueParser.FetchFields);

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All =
        [PublicPath, PassHost, IgnoreQuery, QueryParameters, IgnoredQueryParameters, SortQuery, IgnoredCookies, KeyCookies, KeyFields];
}
