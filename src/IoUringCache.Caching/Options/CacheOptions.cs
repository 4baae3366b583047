using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Options;

/// <summary>
/// Checked values of the <c>Cache:</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record CacheOptions
{
    /// <summary><see langword="null"/>: that of the application.</summary>
    public required string? Name { get; init; }

    public required TimeSpan FileValidity { get; init; }

    public required DirectiveUse RequestDirectives { get; init; }

    public required FetchFields FetchFields { get; init; }

    public required bool UnderscoresInFields { get; init; }

    public required int MaxObjects { get; init; }

    public required int MaxVariants { get; init; }

    public required long MaxBytes { get; init; }

    public required long MaxObjectBytes { get; init; }

    public required long MaxInFlightBytes { get; init; }

    public required long MaxPinnedBytes { get; init; }

    public required long ReadAheadBytes { get; init; }

    public required int MaxFills { get; init; }

    /// <summary>Zero: fills do not wait.</summary>
    public required TimeSpan FetchQueueTime { get; init; }

    public required int MaxPasses { get; init; }

    public required int MaxUpgrades { get; init; }

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

    public required int FetchResumes { get; init; }

    /// <param name="values">Each valid in itself.</param>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static CacheOptions From(OptionValues values) => new()
    {
        Name = values.Get(OptionCatalog.Name),
        FileValidity = values.Get(OptionCatalog.FileValidity),
        RequestDirectives = values.Get(OptionCatalog.RequestDirectives),
        FetchFields = FetchFieldsOf(values),
        UnderscoresInFields = values.Get(OptionCatalog.UnderscoresInFields),
        MaxObjects = values.Get(OptionCatalog.MaxObjects),
        MaxVariants = values.Get(OptionCatalog.MaxVariants),
        MaxBytes = values.Get(OptionCatalog.MaxBytes),
        MaxObjectBytes = values.Get(OptionCatalog.MaxObjectBytes),
        MaxInFlightBytes = values.Get(OptionCatalog.MaxInFlightBytes),
        MaxPinnedBytes = values.Get(OptionCatalog.MaxPinnedBytes),
        ReadAheadBytes = values.Get(OptionCatalog.ReadAheadBytes),
        MaxFills = values.Get(OptionCatalog.MaxFills),
        FetchQueueTime = values.Get(OptionCatalog.FetchQueueTime),
        MaxPasses = values.Get(OptionCatalog.MaxPasses),
        MaxUpgrades = values.Get(OptionCatalog.MaxUpgrades),
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
        FetchResumes = values.Get(OptionCatalog.FetchResumes),
    };

    /// <summary>Where clients are believed, so are they by the cache of another tier.</summary>
    private static FetchFields FetchFieldsOf(OptionValues values) => new(
        values.Get(OptionCatalog.RequestDirectives) == DirectiveUse.Honour
            ? [.. values.Get(OptionCatalog.FetchFields).Union([HeaderNames.CacheControl, HeaderNames.Pragma], StringComparer.OrdinalIgnoreCase)]
            : values.Get(OptionCatalog.FetchFields));
}
