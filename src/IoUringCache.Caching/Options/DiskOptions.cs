namespace IoUringCache.Caching.Options;

/// <summary>Checked values of the <c>Cache:Disk...</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
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
        string? path = values.Get(DiskOptionCatalog.Path);
        long bytes = values.Get(DiskOptionCatalog.Bytes);
        long segmentBytes = values.Get(DiskOptionCatalog.SegmentBytes);
        DiskOptions options = new()
        {
            Path = path ?? "",
            SegmentBytes = (int)segmentBytes,
            SegmentCount = (int)Math.Min(bytes / segmentBytes, int.MaxValue),
            QueueBytes = values.Get(DiskOptionCatalog.QueueBytes),
            TagBytes = values.Get(DiskOptionCatalog.TagBytes),
            MinObjectBytes = values.Get(DiskOptionCatalog.MinObjectBytes),
            SaveOnDrain = values.Get(DiskOptionCatalog.SaveOnDrain),
        };
        if (path is not null && options.SegmentCount < FewestSegments)
        {
            throw new OptionException(
                $"Option {DiskOptionCatalog.Bytes.Name}: expected room for {FewestSegments} segments of {segmentBytes} bytes, "
                + $"as {DiskOptionCatalog.SegmentBytes.Name} says.");
        }

        return path is null ? null : options;
    }
}
