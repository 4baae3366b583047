namespace CachingService.Options;

/// <summary>Checked values that concern the origin; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record OriginOptions
{
    /// <summary>Base URL without a trailing slash, or <see langword="null"/> for the embedded demo origin.</summary>
    public required string? Url { get; init; }

    public required TimeSpan ConnectTimeout { get; init; }

    public required TimeSpan HeaderTimeout { get; init; }

    public required TimeSpan IdleTimeout { get; init; }

    /// <exception cref="OptionException">A value is not valid.</exception>
    public static OriginOptions Read(IConfiguration configuration) => new()
    {
        Url = OptionCatalog.Origin.Read(configuration),
        ConnectTimeout = OptionCatalog.OriginConnectTimeout.Read(configuration),
        HeaderTimeout = OptionCatalog.OriginHeaderTimeout.Read(configuration),
        IdleTimeout = OptionCatalog.OriginIdleTimeout.Read(configuration),
    };
}
