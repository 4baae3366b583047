namespace IoUringCache.Caching.Options;

/// <summary>
/// Checked values of the <c>Cache:Disk...</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record DiskOptions
{
    private const int FewestSegments = 2;

    /// <summary>Absolute.</summary>
    public required string Path { get; init; }

    public required int SegmentBytes { get; init; }

    public required int SegmentCount { get; init; }

    public required long QueueBytes { get; init; }

    public required long TagBytes { get; init; }

    public required long MinObjectBytes { get; init; }

    /// <returns><see langword="null"/> where no directory is named.</returns>
    /// <exception cref="OptionException">A value is not valid, also where there is no disk tier.</exception>
    public static DiskOptions? Read(IConfiguration configuration)
    {
        string? path = OptionCatalog.DiskPath.Read(configuration);
        long bytes = OptionCatalog.DiskBytes.Read(configuration);
        long segmentBytes = OptionCatalog.DiskSegmentBytes.Read(configuration);
        DiskOptions options = new()
        {
            Path = path ?? "",
            SegmentBytes = (int)segmentBytes,
            SegmentCount = (int)Math.Min(bytes / segmentBytes, int.MaxValue),
            QueueBytes = OptionCatalog.DiskQueueBytes.Read(configuration),
            TagBytes = OptionCatalog.DiskTagBytes.Read(configuration),
            MinObjectBytes = OptionCatalog.DiskMinObjectBytes.Read(configuration),
        };
        if (path is not null && options.SegmentCount < FewestSegments)
        {
            throw new OptionException(
                $"Option {OptionCatalog.DiskBytes.Name}: expected room for {FewestSegments} segments of {segmentBytes} bytes, "
                + $"as {OptionCatalog.DiskSegmentBytes.Name} says.");
        }

        return path is null ? null : options;
    }
}
