using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;

namespace CachingService.Options;

/// <summary>
/// Which requests are for objects of the origin, and what counts for their keys; meanings in <see cref="KeyOptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record KeyOptions(
    string PublicPath,
    bool PassHost,
    bool IgnoreQuery,
    NameList QueryParameters,
    NameList IgnoredQueryParameters,
    bool SortQuery,
    NameList IgnoredCookies,
    NameList KeyCookies)
{
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static KeyOptions From(OptionValues values)
    {
        KeyOptions options = new(
            values.Get(KeyOptionCatalog.PublicPath),
            values.Get(KeyOptionCatalog.PassHost),
            values.Get(KeyOptionCatalog.IgnoreQuery),
            values.Get(KeyOptionCatalog.QueryParameters),
            values.Get(KeyOptionCatalog.IgnoredQueryParameters),
            values.Get(KeyOptionCatalog.SortQuery),
            values.Get(KeyOptionCatalog.IgnoredCookies),
            values.Get(KeyOptionCatalog.KeyCookies));
        return options.IgnoreQuery && !options.QueryParameters.IsEmpty
            ? throw new OptionException($"Option {KeyOptionCatalog.QueryParameters.Name}: cannot be given together with {KeyOptionCatalog.IgnoreQuery.Name}.")
            : options;
    }

    /// <summary>Keys are targets without the path, unless there is nothing else to tell a key from none, or from another host's.</summary>
    public KeyRule MakeRule() => new()
    {
        StrippedPrefix = PublicPath,
        CountsHost = PassHost,
        CountsPrefix = PassHost || PublicPath == "/",
        CountsQuery = !IgnoreQuery,
        Parameters = QueryParameters,
        IgnoredParameters = IgnoredQueryParameters,
        SortsParameters = SortQuery,
        Cookies = new(KeyCookies, IgnoredCookies),
    };

    /// <summary>Each option, and whether it is the same in others.</summary>
    public IEnumerable<(Option Option, bool IsSame)> Compare(KeyOptions next) =>
    [
        (KeyOptionCatalog.PublicPath, PublicPath == next.PublicPath),
        (KeyOptionCatalog.PassHost, PassHost == next.PassHost),
        (KeyOptionCatalog.IgnoreQuery, IgnoreQuery == next.IgnoreQuery),
        (KeyOptionCatalog.QueryParameters, QueryParameters.Equals(next.QueryParameters)),
        (KeyOptionCatalog.IgnoredQueryParameters, IgnoredQueryParameters.Equals(next.IgnoredQueryParameters)),
        (KeyOptionCatalog.SortQuery, SortQuery == next.SortQuery),
        (KeyOptionCatalog.IgnoredCookies, IgnoredCookies.Equals(next.IgnoredCookies)),
        (KeyOptionCatalog.KeyCookies, KeyCookies.Equals(next.KeyCookies)),
    ];
}
