using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Options;

/// <summary>
/// Checked values of the <c>Cache:</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record CacheOptions
{
    /// <summary>Long enough to take the load off an origin, and short enough for one that is back early.</summary>
    private static readonly TimeSpan s_longestRetryAfter = TimeSpan.FromMinutes(1);

    /// <summary><see langword="null"/>: that of the application.</summary>
    public required string? Name { get; init; }

    public required FreshnessPolicy Freshness { get; init; }

    public required TimeSpan FileValidity { get; init; }

    public required DirectiveUse RequestDirectives { get; init; }

    public required FetchFields FetchFields { get; init; }

    public required bool UnderscoresInFields { get; init; }

    public required CookieUse Cookies { get; init; }

    public required int MaxObjects { get; init; }

    public required int MaxVariants { get; init; }

    public required long MaxBytes { get; init; }

    public required long MaxObjectBytes { get; init; }

    public required long MaxInFlightBytes { get; init; }

    public required long MaxPinnedBytes { get; init; }

    public required long ReadAheadBytes { get; init; }

    public required int MaxFills { get; init; }

    public required int MaxPasses { get; init; }

    public required int MaxReadersPerObject { get; init; }

    public required int MaxWaiters { get; init; }

    public required TimeSpan OverloadDelay { get; init; }

    public required long BackgroundFillBytes { get; init; }

    /// <summary>What differs from route to route.</summary>
    public required RouteTable Routes { get; init; }

    public required TimeSpan HitForMissTtl { get; init; }

    public required int MaxMarkers { get; init; }

    public required long MaxRequestBodyBytes { get; init; }

    public required IReadOnlySet<string> Upgrades { get; init; }

    public required TimeSpan UpgradeIdleTimeout { get; init; }

    public required PeerList TrustedProxies { get; init; }

    public required PeerList ForwardTagsTo { get; init; }

    public required TimeSpan RangeHoldTime { get; init; }

    public required int FillAttempts { get; init; }

    public required TimeSpan FillRetryDelay { get; init; }

    /// <param name="values">Each valid in itself.</param>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static CacheOptions From(OptionValues values) => new()
    {
        Name = values.Get(OptionCatalog.Name),
        Freshness = FreshnessOf(values),
        FileValidity = values.Get(OptionCatalog.FileValidity),
        RequestDirectives = values.Get(OptionCatalog.RequestDirectives),
        FetchFields = FetchFieldsOf(values),
        UnderscoresInFields = values.Get(OptionCatalog.UnderscoresInFields),
        Cookies = values.Get(OptionCatalog.Cookies),
        MaxObjects = values.Get(OptionCatalog.MaxObjects),
        MaxVariants = values.Get(OptionCatalog.MaxVariants),
        MaxBytes = values.Get(OptionCatalog.MaxBytes),
        MaxObjectBytes = values.Get(OptionCatalog.MaxObjectBytes),
        MaxInFlightBytes = values.Get(OptionCatalog.MaxInFlightBytes),
        MaxPinnedBytes = values.Get(OptionCatalog.MaxPinnedBytes),
        ReadAheadBytes = values.Get(OptionCatalog.ReadAheadBytes),
        MaxFills = values.Get(OptionCatalog.MaxFills),
        MaxPasses = values.Get(OptionCatalog.MaxPasses),
        MaxReadersPerObject = values.Get(OptionCatalog.MaxReadersPerObject),
        MaxWaiters = values.Get(OptionCatalog.MaxWaiters),
        OverloadDelay = values.Get(OptionCatalog.OverloadDelay),
        BackgroundFillBytes = values.Get(OptionCatalog.BackgroundFillBytes) ?? long.MaxValue,
        Routes = RouteTable.From(values),
        HitForMissTtl = values.Get(OptionCatalog.HitForMissTtl),
        MaxMarkers = values.Get(OptionCatalog.MaxMarkers),
        MaxRequestBodyBytes = values.Get(OptionCatalog.MaxRequestBodyBytes),
        Upgrades = new HashSet<string>(values.Get(OptionCatalog.Upgrades), StringComparer.OrdinalIgnoreCase),
        UpgradeIdleTimeout = values.Get(OptionCatalog.UpgradeIdleTimeout),
        TrustedProxies = values.Get(OptionCatalog.TrustedProxies),
        ForwardTagsTo = values.Get(OptionCatalog.ForwardTagsTo),
        RangeHoldTime = values.Get(OptionCatalog.RangeHoldTime),
        FillAttempts = values.Get(OptionCatalog.FillAttempts),
        FillRetryDelay = values.Get(OptionCatalog.FillRetryDelay),
    };

    private static FreshnessPolicy FreshnessOf(OptionValues values) => new()
    {
        DefaultTtl = values.Get(OptionCatalog.DefaultTtl),
        NegativeStatuses = values.Get(OptionCatalog.NegativeStatuses),
        NegativeTtl = values.Get(OptionCatalog.NegativeTtl),
        ErrorTtl = values.Get(OptionCatalog.ErrorTtl),
        MaxRetryAfter = values.Get(OptionCatalog.Origins).Length > 1 ? TimeSpan.Zero : s_longestRetryAfter,
        MaxHeuristicTtl = values.Get(OptionCatalog.MaxHeuristicTtl),
        KeepStale = values.Get(OptionCatalog.KeepStale),
        StaleWhileRevalidate = values.Get(OptionCatalog.StaleWhileRevalidate),
        StaleIfError = values.Get(OptionCatalog.StaleIfError),
    };

    /// <summary>Where clients are believed, so are they by the cache of another tier.</summary>
    private static FetchFields FetchFieldsOf(OptionValues values) => new(
        values.Get(OptionCatalog.RequestDirectives) == DirectiveUse.Honour
            ? [.. values.Get(OptionCatalog.FetchFields).Union([HeaderNames.CacheControl, HeaderNames.Pragma], StringComparer.OrdinalIgnoreCase)]
            : values.Get(OptionCatalog.FetchFields));
}
