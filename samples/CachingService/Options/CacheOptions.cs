namespace CachingService.Options;

/// <summary>
/// Checked values of the <c>Cache:</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record CacheOptions
{
    public required TimeSpan DefaultTtl { get; init; }

    public required TimeSpan NegativeTtl { get; init; }

    public required TimeSpan ErrorTtl { get; init; }

    public required TimeSpan MaxHeuristicTtl { get; init; }

    public required int MaxObjects { get; init; }

    public required long MaxBytes { get; init; }

    public required long MaxObjectBytes { get; init; }

    public required long MaxInFlightBytes { get; init; }

    public required long ReadAheadBytes { get; init; }

    public required int MaxFills { get; init; }

    public required int MaxPasses { get; init; }

    public required int MaxReadersPerObject { get; init; }

    public required long MaxRequestBodyBytes { get; init; }

    public required TimeSpan RangeHoldTime { get; init; }

    public required int FillAttempts { get; init; }

    /// <exception cref="OptionException">A value is not valid.</exception>
    public static CacheOptions Read(IConfiguration configuration) => new()
    {
        DefaultTtl = OptionCatalog.DefaultTtl.Read(configuration),
        NegativeTtl = OptionCatalog.NegativeTtl.Read(configuration),
        ErrorTtl = OptionCatalog.ErrorTtl.Read(configuration),
        MaxHeuristicTtl = OptionCatalog.MaxHeuristicTtl.Read(configuration),
        MaxObjects = OptionCatalog.MaxObjects.Read(configuration),
        MaxBytes = OptionCatalog.MaxBytes.Read(configuration),
        MaxObjectBytes = OptionCatalog.MaxObjectBytes.Read(configuration),
        MaxInFlightBytes = OptionCatalog.MaxInFlightBytes.Read(configuration),
        ReadAheadBytes = OptionCatalog.ReadAheadBytes.Read(configuration),
        MaxFills = OptionCatalog.MaxFills.Read(configuration),
        MaxPasses = OptionCatalog.MaxPasses.Read(configuration),
        MaxReadersPerObject = OptionCatalog.MaxReadersPerObject.Read(configuration),
        MaxRequestBodyBytes = OptionCatalog.MaxRequestBodyBytes.Read(configuration),
        RangeHoldTime = OptionCatalog.RangeHoldTime.Read(configuration),
        FillAttempts = OptionCatalog.FillAttempts.Read(configuration),
    };
}
