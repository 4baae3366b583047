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
    /// <exception cref="OptionException">Two do not fit together, or a file is not what its option says.</exception>
    public static OriginOptions From(OptionValues values) => new()
    {
        Urls = UrlsOf(values),
        Directory = values.Get(OptionCatalog.Origin).Directory,
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

    private static string[] UrlsOf(OptionValues values)
    {
        OriginAddress one = values.Get(OptionCatalog.Origin);
        string[] several = values.Get(OptionCatalog.Origins);
        return one == default ? several
            : several.Length == 0 ? [.. one.Url is { } url ? [url] : Array.Empty<string>()]
            : throw new OptionException($"Option {OptionCatalog.Origins.Name}: cannot be given together with {OptionCatalog.Origin.Name}.");
    }
}
