namespace IoUringCache.Caching.Options;

/// <summary>Checked values that concern the origin; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record OriginOptions
{
    /// <summary>Base URLs without trailing slashes, the preferred one first; none for a directory and for the embedded demo origin.</summary>
    public required IReadOnlyList<string> Urls { get; init; }

    /// <summary>Absolute path of a directory that is served in the place of an origin; <see langword="null"/>: none.</summary>
    public required string? Directory { get; init; }

    public required TimeSpan ConnectTimeout { get; init; }

    public required TimeSpan HeaderTimeout { get; init; }

    public required TimeSpan FirstByteTimeout { get; init; }

    public required TimeSpan IdleTimeout { get; init; }

    public required TimeSpan MaxFillAge { get; init; }

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

    /// <exception cref="OptionException">A value is not valid.</exception>
    public static OriginOptions Read(IConfiguration configuration) => new()
    {
        Urls = ReadUrls(configuration),
        Directory = OptionCatalog.Origin.Read(configuration).Directory,
        ConnectTimeout = OptionCatalog.OriginConnectTimeout.Read(configuration),
        HeaderTimeout = OptionCatalog.OriginHeaderTimeout.Read(configuration),
        FirstByteTimeout = OptionCatalog.OriginFirstByteTimeout.Read(configuration),
        IdleTimeout = OptionCatalog.OriginIdleTimeout.Read(configuration),
        MaxFillAge = OptionCatalog.MaxFillAge.Read(configuration),
        MaxFills = OptionCatalog.OriginMaxFills.Read(configuration),
        MaxPasses = OptionCatalog.OriginMaxPasses.Read(configuration),
        EjectAfter = OptionCatalog.OriginEjectAfter.Read(configuration),
        EjectTime = OptionCatalog.OriginEjectTime.Read(configuration),
        ProbePath = OptionCatalog.OriginProbePath.Read(configuration),
        ProbeInterval = OptionCatalog.OriginProbeInterval.Read(configuration),
    };

    private static string[] ReadUrls(IConfiguration configuration)
    {
        OriginAddress one = OptionCatalog.Origin.Read(configuration);
        string[] several = OptionCatalog.Origins.Read(configuration);
        return one == default ? several
            : several.Length == 0 ? [.. one.Url is { } url ? [url] : Array.Empty<string>()]
            : throw new OptionException($"Option {OptionCatalog.Origins.Name}: cannot be given together with {OptionCatalog.Origin.Name}.");
    }
}
