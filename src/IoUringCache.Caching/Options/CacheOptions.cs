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

    public required PeerList TrustedProxies { get; init; }

    public required PeerList ForwardTagsTo { get; init; }

    public required TimeSpan RangeHoldTime { get; init; }

    public required int FillAttempts { get; init; }

    public required TimeSpan FillRetryDelay { get; init; }

    /// <exception cref="OptionException">A value is not valid.</exception>
    public static CacheOptions Read(IConfiguration configuration) => new()
    {
        Freshness = ReadFreshness(configuration),
        FileValidity = OptionCatalog.FileValidity.Read(configuration),
        RequestDirectives = OptionCatalog.RequestDirectives.Read(configuration),
        FetchFields = ReadFetchFields(configuration),
        UnderscoresInFields = OptionCatalog.UnderscoresInFields.Read(configuration),
        Cookies = OptionCatalog.Cookies.Read(configuration),
        MaxObjects = OptionCatalog.MaxObjects.Read(configuration),
        MaxVariants = OptionCatalog.MaxVariants.Read(configuration),
        MaxBytes = OptionCatalog.MaxBytes.Read(configuration),
        MaxObjectBytes = OptionCatalog.MaxObjectBytes.Read(configuration),
        MaxInFlightBytes = OptionCatalog.MaxInFlightBytes.Read(configuration),
        MaxPinnedBytes = OptionCatalog.MaxPinnedBytes.Read(configuration),
        ReadAheadBytes = OptionCatalog.ReadAheadBytes.Read(configuration),
        MaxFills = OptionCatalog.MaxFills.Read(configuration),
        MaxPasses = OptionCatalog.MaxPasses.Read(configuration),
        MaxReadersPerObject = OptionCatalog.MaxReadersPerObject.Read(configuration),
        MaxWaiters = OptionCatalog.MaxWaiters.Read(configuration),
        OverloadDelay = OptionCatalog.OverloadDelay.Read(configuration),
        BackgroundFillBytes = OptionCatalog.BackgroundFillBytes.Read(configuration),
        Routes = RouteTable.Read(configuration),
        HitForMissTtl = OptionCatalog.HitForMissTtl.Read(configuration),
        MaxMarkers = OptionCatalog.MaxMarkers.Read(configuration),
        MaxRequestBodyBytes = OptionCatalog.MaxRequestBodyBytes.Read(configuration),
        TrustedProxies = OptionCatalog.TrustedProxies.Read(configuration),
        ForwardTagsTo = OptionCatalog.ForwardTagsTo.Read(configuration),
        RangeHoldTime = OptionCatalog.RangeHoldTime.Read(configuration),
        FillAttempts = OptionCatalog.FillAttempts.Read(configuration),
        FillRetryDelay = OptionCatalog.FillRetryDelay.Read(configuration),
    };

    private static FreshnessPolicy ReadFreshness(IConfiguration configuration) => new()
    {
        DefaultTtl = OptionCatalog.DefaultTtl.Read(configuration),
        NegativeStatuses = OptionCatalog.NegativeStatuses.Read(configuration),
        NegativeTtl = OptionCatalog.NegativeTtl.Read(configuration),
        ErrorTtl = OptionCatalog.ErrorTtl.Read(configuration),
        MaxRetryAfter = OptionCatalog.Origins.Read(configuration).Length > 1 ? TimeSpan.Zero : s_longestRetryAfter,
        MaxHeuristicTtl = OptionCatalog.MaxHeuristicTtl.Read(configuration),
        KeepStale = OptionCatalog.KeepStale.Read(configuration),
        StaleWhileRevalidate = OptionCatalog.StaleWhileRevalidate.Read(configuration),
        StaleIfError = OptionCatalog.StaleIfError.Read(configuration),
    };

    /// <summary>Where clients are believed, so are they by the cache of another tier.</summary>
    private static FetchFields ReadFetchFields(IConfiguration configuration) => new(
        OptionCatalog.RequestDirectives.Read(configuration) == DirectiveUse.Honour
            ? [.. OptionCatalog.FetchFields.Read(configuration).Union([HeaderNames.CacheControl, HeaderNames.Pragma], StringComparer.OrdinalIgnoreCase)]
            : OptionCatalog.FetchFields.Read(configuration));
}
