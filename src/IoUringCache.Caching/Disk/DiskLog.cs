namespace IoUringCache.Caching.Disk;

/// <summary>What the disk tier logs: what it found at the start, and whatever is wrong with a file. Objects by <see cref="DropLog"/>.</summary>
internal static partial class DiskLog
{
    [LoggerMessage(41, LogLevel.Information, "Disk tier at {Path}: {Objects} objects found in {Segments} segments in {Milliseconds} ms")]
    public static partial void Opened(ILogger log, string path, int objects, int segments, long milliseconds);

    [LoggerMessage(42, LogLevel.Warning, "Disk tier: the rest of a segment is dropped: {Reason}")]
    public static partial void Damaged(ILogger log, string reason);

    [LoggerMessage(43, LogLevel.Warning, "Disk tier: an object is dropped, and {Untold} others since the last such line: {Reason}")]
    public static partial void Dropped(ILogger log, long untold, string reason);

    [LoggerMessage(44, LogLevel.Error, "Disk tier: {Path} is deleted and not used any more: {Reason}")]
    public static partial void Retired(ILogger log, string path, string reason);

    [LoggerMessage(45, LogLevel.Critical, "Disk tier: {Path} cannot be deleted, and may show removed objects after a restart: {Reason}")]
    public static partial void NotDeleted(ILogger log, string path, string reason);

    [LoggerMessage(47, LogLevel.Warning, "Disk tier: {Objects} objects are dropped, because the purges of them are not known: {Reason}")]
    public static partial void Distrusted(ILogger log, int objects, string reason);

    [LoggerMessage(48, LogLevel.Error, "Disk tier: the purge journal cannot be written, so each purge checks all objects until it can: {Reason}")]
    public static partial void JournalFailed(ILogger log, string reason);

    [LoggerMessage(46, LogLevel.Error, "Disk tier: an object was not written because of a defect: {Key}")]
    public static partial void Defect(ILogger log, Exception defect, string key);
}
