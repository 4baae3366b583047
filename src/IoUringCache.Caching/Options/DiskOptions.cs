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

    /// <summary>Zero: memory is not saved.</summary>
    public required TimeSpan SaveOnDrain { get; init; }

    /// <param name="values">Each valid in itself.</param>
    /// <returns><see langword="null"/> where no directory is named.</returns>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static DiskOptions? From(OptionValues values)
    {
        string? path = values.Get(OptionCatalog.DiskPath);
        long bytes = values.Get(OptionCatalog.DiskBytes);
        long segmentBytes = values.Get(OptionCatalog.DiskSegmentBytes);
        DiskOptions options = new()
        {
            Path = path ?? "",
            SegmentBytes = (int)segmentBytes,
            SegmentCount = (int)Math.Min(bytes / segmentBytes, int.MaxValue),
            QueueBytes = values.Get(OptionCatalog.DiskQueueBytes),
            TagBytes = values.Get(OptionCatalog.DiskTagBytes),
            MinObjectBytes = values.Get(OptionCatalog.DiskMinObjectBytes),
            SaveOnDrain = values.Get(OptionCatalog.DiskSaveOnDrain),
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
