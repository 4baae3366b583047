namespace IoUringCache.Caching.Options;

/// <summary>The options of the tier on the disk; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class DiskOptionCatalog
{
    public static readonly Option<string?> Path = OptionCatalog.OptionalText(
        "Cache:DiskPath", "directory",
        "Directory for objects that memory has no space for; created if missing, used by one service only. Empty: no disk tier.");

    public static readonly Option<long> Bytes = OptionCatalog.Bytes(
        "Cache:DiskBytes", "1GiB",
        "Disk space, allocated at the start, at least two segments; 1 MiB more is the purge journal. The oldest segment is dropped first.");

    public static readonly Option<long> SegmentBytes = new(
        "Cache:DiskSegmentBytes", "64MiB", OptionCatalog.BytesForm,
        "Size of one segment file, and so of the largest object with its header. A change of it empties the disk tier.",
        static text => ValueParser.Bytes(text, 1 << 20, 1 << 30) is var bytes && bytes % (1 << 20) == 0
            ? bytes : throw new FormatException("expected a multiple of 1MiB."));

    public static readonly Option<long> QueueBytes = OptionCatalog.Bytes(
        "Cache:DiskQueueBytes", "64MiB", "Memory of evicted objects that wait for the disk. Above it, further objects are dropped.");

    public static readonly Option<long> TagBytes = OptionCatalog.Bytes(
        "Cache:DiskTagBytes", "256MiB", "Memory of the tags, and directories of keys, of objects on the disk. Above it, the oldest segment is dropped.");

    public static readonly Option<long> MinObjectBytes = OptionCatalog.Bytes(
        "Cache:DiskMinObjectBytes", "4KiB", "Smallest body that is written to the disk; each object takes at least 8 KiB there.");

    public static readonly Option<TimeSpan> SaveOnDrain = OptionCatalog.Duration(
        "Cache:DiskSaveOnDrain", "10s", TimeSpan.Zero, TimeSpan.FromHours(1),
        "Time after the last response in which a drain writes the objects in memory to the disk, the most requested first. 0: never.");

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All = [Path, Bytes, SegmentBytes, QueueBytes, TagBytes, MinObjectBytes, SaveOnDrain];
}
