namespace IoUringCache.Caching.Http;

/// <summary>
/// How long responses are shared and kept where their origin does not say; a route may have its own. Meanings and units in
/// <see cref="Options.OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record FreshnessPolicy
{
    /// <summary>Whatever the origin says; <see langword="null"/>: as it says.</summary>
    public required TimeSpan? ForcedTtl { get; init; }

    public required TimeSpan DefaultTtl { get; init; }

    /// <summary>From 400 to 499.</summary>
    public required IReadOnlySet<int> NegativeStatuses { get; init; }

    public required TimeSpan NegativeTtl { get; init; }

    public required TimeSpan ErrorTtl { get; init; }

    /// <summary>How long a 503 is kept because of its <c>Retry-After</c>. Zero with several addresses: another one may be well.</summary>
    public required TimeSpan MaxRetryAfter { get; init; }

    public required TimeSpan MaxHeuristicTtl { get; init; }

    public required TimeSpan KeepStale { get; init; }

    public required TimeSpan StaleWhileRevalidate { get; init; }

    public required TimeSpan StaleIfError { get; init; }
}
