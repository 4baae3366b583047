using IoUringCache.Caching.Engine;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Serving;

namespace IoUringCache.Caching.Hosting;

/// <summary>The checked options of one route, before there is a cache to put it into. Immutable; any thread.</summary>
internal sealed class RoutePlan
{
    private readonly StreamingCacheRouteOptions _options;

    /// <exception cref="ArgumentException">An option is wrong; the message names it.</exception>
    public RoutePlan(StreamingCacheRouteOptions options, bool isEndpoint)
    {
        _options = options;
        CheckTime(options.ForcedTtl, nameof(options.ForcedTtl), TimeSpan.FromDays(365));
        CheckTime(options.DefaultTtl, nameof(options.DefaultTtl), TimeSpan.FromDays(365));
        CheckTime(options.StaleWhileRevalidate, nameof(options.StaleWhileRevalidate), TimeSpan.FromDays(365));
        CheckTime(options.StaleIfError, nameof(options.StaleIfError), TimeSpan.FromDays(365));
        CheckTime(options.HoldTime, nameof(options.HoldTime), TimeSpan.FromHours(1));
        Refuse(options.MinReaderRate < 0, nameof(options.MinReaderRate), "expected 0 or more");
        Refuse(options.PreserveHost && options.IgnoreHost, nameof(options.PreserveHost), $"cannot be together with {nameof(options.IgnoreHost)}");
        Refuse(
            options.IgnoreQuery && options.QueryParameters.Count > 0,
            nameof(options.QueryParameters),
            $"cannot be together with {nameof(options.IgnoreQuery)}");
        bool isPrefix = options.StripPathPrefix is { } prefix && prefix.StartsWith('/') && prefix.EndsWith('/');
        Refuse(!isPrefix, nameof(options.StripPathPrefix), "expected a slash at both ends");
        Refuse(isEndpoint && options.StripPathPrefix != "/", nameof(options.StripPathPrefix), "an end point has all of the path");
        foreach (string name in options.KeyFields)
        {
            string? refusal = HeaderRules.RefusalOnFetch(name);
            Refuse(refusal is not null, nameof(options.KeyFields), $"'{name}': {refusal}");
        }

        CheckNames(options.QueryParameters, nameof(options.QueryParameters));
        CheckNames(options.IgnoredQueryParameters, nameof(options.IgnoredQueryParameters));
        CheckNames(options.IgnoredCookies, nameof(options.IgnoredCookies));
        CheckNames(options.KeyCookies, nameof(options.KeyCookies));
        Keys = new()
        {
            CountsScheme = isEndpoint,
            CountsHost = !options.IgnoreHost,
            CountsQuery = !options.IgnoreQuery,
            Parameters = new(options.QueryParameters),
            IgnoredParameters = new(options.IgnoredQueryParameters),
            SortsParameters = options.SortQuery,
            Cookies = new(new(options.KeyCookies), new(options.IgnoredCookies)),
            Fields = VaryRule.Of(options.KeyFields),
            StrippedPrefix = options.StripPathPrefix,
        };
        KeepsHost = isEndpoint ? !options.IgnoreHost : options.PreserveHost;
    }

    public KeyRule Keys { get; }

    private bool KeepsHost { get; }

    /// <param name="cache">Whose options hold where the route has none of its own.</param>
    /// <param name="urls">The origin's addresses, or one that stands for an end point.</param>
    public CacheRoute MakeRoute(CacheEngine cache, IOrigin? origin, IReadOnlyList<string> urls) =>
        new(origin, cache.Live, options => PoliciesOf(options, urls.Count > 1), urls.Count == 0 ? null : new(urls))
        {
            KeepsHost = KeepsHost,
            KeyFields = Keys.Fields,
            PurgePlaces = options => options.Routes.All.Select(policy => new PurgePlace([], Keys.StrippedPrefix + policy.Prefix, policy.PurgeFrom)
            {
                HasClientHosts = Keys.CountsHost,
            }),
        };

    private RouteTable PoliciesOf(CacheOptions options, bool hasSeveralAddresses) => options.Routes.With(policy => policy with
    {
        Freshness = policy.Freshness with
        {
            ForcedTtl = _options.ForcedTtl ?? policy.Freshness.ForcedTtl,
            DefaultTtl = _options.DefaultTtl ?? policy.Freshness.DefaultTtl,
            StaleWhileRevalidate = _options.StaleWhileRevalidate ?? policy.Freshness.StaleWhileRevalidate,
            StaleIfError = _options.StaleIfError ?? policy.Freshness.StaleIfError,
            MaxRetryAfter = hasSeveralAddresses ? TimeSpan.Zero : policy.Freshness.MaxRetryAfter,
        },
        HoldTime = _options.HoldTime ?? policy.HoldTime,
        MinReaderRate = _options.MinReaderRate ?? policy.MinReaderRate,
        Coalesce = _options.Coalesce ?? policy.Coalesce,
        PassTrace = _options.PassTrace ?? policy.PassTrace,
    });

    private static void CheckTime(TimeSpan? value, string name, TimeSpan most) =>
        Refuse(value < TimeSpan.Zero || value > most, name, $"expected a time from 0 to {most}");

    private static void CheckNames(IEnumerable<string> names, string option)
    {
        foreach (string name in names)
        {
            Refuse(!NameList.IsName(name), option, $"'{name}': expected a name, with a star only at its end");
        }
    }

    private static void Refuse(bool isWrong, string name, string reason)
    {
        if (isWrong)
        {
            throw new ArgumentException($"{nameof(StreamingCacheRouteOptions)}.{name}: {reason}.");
        }
    }
}
