namespace IoUringCache.Caching.Options;

/// <summary>Checked values that concern each origin, wherever it is; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record OriginOptions
{
    public required TimeSpan ConnectTimeout { get; init; }

    public required TimeSpan HeaderTimeout { get; init; }

    public required TimeSpan FirstByteTimeout { get; init; }

    public required TimeSpan IdleTimeout { get; init; }

    public required TimeSpan MaxFillAge { get; init; }

    public required OriginTlsOptions Tls { get; init; }

    /// <summary>At one address.</summary>
    public required int MaxFills { get; init; }

    /// <summary>At one address.</summary>
    public required int MaxPasses { get; init; }

    /// <summary>Zero: never.</summary>
    public required int EjectAfter { get; init; }

    public required TimeSpan EjectTime { get; init; }

    /// <summary><see langword="null"/>: no probes.</summary>
    public required string? ProbePath { get; init; }

    public required TimeSpan ProbeInterval { get; init; }

    /// <param name="values">Each valid in itself.</param>
    /// <exception cref="OptionException">A file is not what its option says.</exception>
    public static OriginOptions From(OptionValues values) => new()
    {
        ConnectTimeout = values.Get(OptionCatalog.OriginConnectTimeout),
        HeaderTimeout = values.Get(OptionCatalog.OriginHeaderTimeout),
        FirstByteTimeout = values.Get(OptionCatalog.OriginFirstByteTimeout),
        IdleTimeout = values.Get(OptionCatalog.OriginIdleTimeout),
        MaxFillAge = values.Get(OptionCatalog.MaxFillAge),
        Tls = OriginTlsOptions.From(values),
        MaxFills = values.Get(OptionCatalog.OriginMaxFills),
        MaxPasses = values.Get(OptionCatalog.OriginMaxPasses),
        EjectAfter = values.Get(OptionCatalog.OriginEjectAfter),
        EjectTime = values.Get(OptionCatalog.OriginEjectTime),
        ProbePath = values.Get(OptionCatalog.OriginProbePath),
        ProbeInterval = values.Get(OptionCatalog.OriginProbeInterval),
    };
}
