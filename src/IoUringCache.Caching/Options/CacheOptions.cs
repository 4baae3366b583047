using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Options;

/// <summary>Checked values of the <c>Cache:</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Values">Each valid in itself. Read by the initializers alone: a copy made by <c>with</c> has other values than these.</param>
/// <exception cref="OptionException">Two do not fit together.</exception>
internal sealed record CacheOptions(OptionValues Values)
{
    /// <summary><see langword="null"/>: that of the application.</summary>
    public string? Name { get; init; } = Values.Get(OptionCatalog.Name);

    public TimeSpan FileValidity { get; init; } = Values.Get(OptionCatalog.FileValidity);

    public DirectiveUse RequestDirectives { get; init; } = Values.Get(OptionCatalog.RequestDirectives);

    public FetchFields FetchFields { get; init; } = FetchFieldsOf(Values);

    public bool UnderscoresInFields { get; init; } = Values.Get(OptionCatalog.UnderscoresInFields);

    public int MaxObjects { get; init; } = Values.Get(OptionCatalog.MaxObjects);

    public int MaxVariants { get; init; } = Values.Get(OptionCatalog.MaxVariants);

    public long MaxBytes { get; init; } = Values.Get(OptionCatalog.MaxBytes);

    public long MaxObjectBytes { get; init; } = Values.Get(OptionCatalog.MaxObjectBytes);

    public long MaxInFlightBytes { get; init; } = Values.Get(OptionCatalog.MaxInFlightBytes);

    public long MaxPinnedBytes { get; init; } = Values.Get(OptionCatalog.MaxPinnedBytes);

    public long ReadAheadBytes { get; init; } = Values.Get(OptionCatalog.ReadAheadBytes);

    public int MaxFills { get; init; } = Values.Get(OptionCatalog.MaxFills);

    /// <summary>Zero: fills do not wait.</summary>
    public TimeSpan FetchQueueTime { get; init; } = Values.Get(OptionCatalog.FetchQueueTime);

    public int MaxPasses { get; init; } = Values.Get(OptionCatalog.MaxPasses);

    public int MaxUpgrades { get; init; } = Values.Get(OptionCatalog.MaxUpgrades);

    public int MaxReadersPerObject { get; init; } = Values.Get(OptionCatalog.MaxReadersPerObject);

    public int MaxWaiters { get; init; } = Values.Get(OptionCatalog.MaxWaiters);

    public TimeSpan OverloadDelay { get; init; } = Values.Get(OptionCatalog.OverloadDelay);

    public long BackgroundFillBytes { get; init; } = Values.Get(OptionCatalog.BackgroundFillBytes) ?? long.MaxValue;

    /// <summary>What differs from route to route.</summary>
    public RouteTable Routes { get; init; } = RouteTable.From(Values);

    public TimeSpan HitForMissTtl { get; init; } = Values.Get(OptionCatalog.HitForMissTtl);

    public int MaxMarkers { get; init; } = Values.Get(OptionCatalog.MaxMarkers);

    public long MaxRequestBodyBytes { get; init; } = Values.Get(OptionCatalog.MaxRequestBodyBytes);

    public IReadOnlySet<string> Upgrades { get; init; } = new HashSet<string>(Values.Get(OptionCatalog.Upgrades), StringComparer.OrdinalIgnoreCase);

    public TimeSpan UpgradeIdleTimeout { get; init; } = Values.Get(OptionCatalog.UpgradeIdleTimeout);

    public PeerList TrustedProxies { get; init; } = Values.Get(OptionCatalog.TrustedProxies);

    public PeerList ForwardTagsTo { get; init; } = Values.Get(OptionCatalog.ForwardTagsTo);

    public TimeSpan RangeHoldTime { get; init; } = Values.Get(OptionCatalog.RangeHoldTime);

    public int FillAttempts { get; init; } = Values.Get(OptionCatalog.FillAttempts);

    public TimeSpan FillRetryDelay { get; init; } = Values.Get(OptionCatalog.FillRetryDelay);

    public int FetchResumes { get; init; } = Values.Get(OptionCatalog.FetchResumes);

    /// <summary>Where clients are believed, so are they by the cache of another tier.</summary>
    private static FetchFields FetchFieldsOf(OptionValues values) => new(
        values.Get(OptionCatalog.RequestDirectives) == DirectiveUse.Honour
            ? [.. values.Get(OptionCatalog.FetchFields).Union([HeaderNames.CacheControl, HeaderNames.Pragma], StringComparer.OrdinalIgnoreCase)]
            : values.Get(OptionCatalog.FetchFields));
}
