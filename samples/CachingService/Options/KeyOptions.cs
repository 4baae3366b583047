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
    NameList KeyCookies,
    string[] KeyFields)
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
            values.Get(KeyOptionCatalog.KeyCookies),
            values.Get(KeyOptionCatalog.KeyFields));
        return options.IgnoreQuery && !options.QueryParameters.IsEmpty
            ? throw new OptionException(
                $"Option {values.NameOf(KeyOptionCatalog.QueryParameters)}: cannot be given together with {values.NameOf(KeyOptionCatalog.IgnoreQuery)}.")
            : options;
    }

    /// <summary>The same for signed URLs: clients with different signatures share an object.</summary>
    public KeyOptions WithoutSignatures() => this with { IgnoredQueryParameters = IgnoredQueryParameters.With(SignedUrlKeys.Parameters) };

    /// <param name="countsPrefix">Whether keys have it nevertheless.</param>
    /// <param name="oneHost">What keys have for a host where the client's does not count; <see langword="null"/>: it counts.</param>
    public KeyRule MakeRule(string strippedPrefix, bool countsPrefix, string? oneHost) => new()
    {
        StrippedPrefix = strippedPrefix,
        CountsHost = PassHost || oneHost is null,
        OneHost = oneHost ?? "",
        CountsPrefix = countsPrefix,
        CountsQuery = !IgnoreQuery,
        Parameters = QueryParameters,
        IgnoredParameters = IgnoredQueryParameters,
        SortsParameters = SortQuery,
        Cookies = new(KeyCookies, IgnoredCookies),
        Fields = VaryRule.Of(KeyFields),
    };
}
