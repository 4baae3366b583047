namespace IoUringCache.Caching.Telemetry;

/// <summary>Why an answer was cut after its headers, as a label has it. Any thread.</summary>
internal static class CutReason
{
    /// <summary>The body broke at the origin.</summary>
    public const string Origin = "origin";

    /// <summary>The body cannot be read from the disk tier.</summary>
    public const string Disk = "disk";

    /// <summary>A file of a directory became shorter.</summary>
    public const string File = "file";

    /// <summary>The client read more slowly than <c>Cache:MinReaderRate</c>.</summary>
    public const string Rate = "rate";

    /// <summary>The client held memory, above <c>Cache:MaxPinnedBytes</c>.</summary>
    public const string Memory = "memory";

    /// <summary>The client fell behind the others, of a body that is not stored, without a minimum rate.</summary>
    public const string Behind = "behind";

    public static readonly string[] All = [Origin, Disk, File, Rate, Memory, Behind];
}
