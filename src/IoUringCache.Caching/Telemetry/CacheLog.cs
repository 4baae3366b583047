using IoUringCache.Ring;

namespace IoUringCache.Caching.Telemetry;

/// <summary>
/// All that the cache logs, by number. One class: the generator writes several in an order of its own, and no two builds would be the same. Any
/// thread.
/// </summary>
internal static partial class CacheLog
{
    [LoggerMessage(1, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}) and answered at attempt {Attempt}: {Key}")]
    public static partial void FillRecovered(ILogger log, string key, string detail, string reason, int attempt);

    [LoggerMessage(2, LogLevel.Warning, "Origin failed ({Detail}: {Reason}) after {Bytes} bytes of the body, {Readers} readers cut: {Key}")]
    public static partial void FillFailed(ILogger log, string key, string detail, string reason, long bytes, int readers);

    [LoggerMessage(3, LogLevel.Error, "Fill failed because of a defect: {Key}")]
    public static partial void FillDefect(ILogger log, Exception defect, string key);

    [LoggerMessage(4, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}), {Readers} requests get {Status}: {Key}")]
    public static partial void FillGaveUp(ILogger log, string key, string detail, string reason, int readers, int status);

    [LoggerMessage(5, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}), {Readers} requests get a stale object: {Key}")]
    public static partial void StoodIn(ILogger log, string key, string detail, string reason, int readers);

    [LoggerMessage(6, LogLevel.Warning, "Disk failed ({Reason}) after {Bytes} bytes of the body, {Readers} readers cut: {Key}")]
    public static partial void FillFailedOnDisk(ILogger log, string key, string reason, long bytes, int readers);

    [LoggerMessage(
        7, LogLevel.Warning,
        "Origin {Url} sends a Date that is {Behind} s behind this machine's clock, so what it sends is stale on arrival; compare the clocks")]
    public static partial void StaleDate(ILogger log, string url, long behind);

    [LoggerMessage(8, LogLevel.Warning, "Origin failed ({Detail}: {Reason}) after {Bytes} bytes of the body, and sends the rest: {Key}")]
    public static partial void FillResumed(ILogger log, string key, string detail, string reason, long bytes);

    [LoggerMessage(9, LogLevel.Warning, "Origin does not send the rest of a body after {Bytes} bytes ({Reason}): {Key}")]
    public static partial void FillNotResumed(ILogger log, string key, string reason, long bytes);

    [LoggerMessage(11, LogLevel.Warning, "Origin failed ({Detail}: {Reason}) for one client: {Key}")]
    public static partial void PassFailed(ILogger log, string key, string detail, string reason);

    [LoggerMessage(12, LogLevel.Information, "Cut {Count} clients that read more slowly than Cache:MinReaderRate")]
    public static partial void ReadersCut(ILogger log, int count);

    [LoggerMessage(22, LogLevel.Warning, "Origin {Url} is not asked for {Time} after {Failures} failures in a row")]
    public static partial void OriginEjected(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(
        24, LogLevel.Warning,
        "Origin {Url} is not asked for {Time} while there is another address, after {Failures} answers in a row were errors or of no use")]
    public static partial void OriginAvoided(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(31, LogLevel.Warning, "A file became shorter while it was sent, and its client was cut: {Key}")]
    public static partial void FileShrunk(ILogger log, string key);

    [LoggerMessage(32, LogLevel.Warning, "A file cannot be opened ({Error}): {Key}")]
    public static partial void FileCannotBeOpened(ILogger log, string key, Errno error);

    [LoggerMessage(33, LogLevel.Error, "The end point failed that was run for everybody who waits for {Key}")]
    public static partial void EndpointFailed(ILogger log, string key, Exception failure);

    [LoggerMessage(41, LogLevel.Information, "Disk tier at {Path}: {Objects} objects found in {Segments} segments in {Milliseconds} ms")]
    public static partial void DiskOpened(ILogger log, string path, int objects, int segments, long milliseconds);

    [LoggerMessage(50, LogLevel.Information, "Disk tier at {Path}: waits until the service before has let go of it")]
    public static partial void DiskAwaited(ILogger log, string path);

    [LoggerMessage(42, LogLevel.Warning, "Disk tier: the rest of a segment is dropped: {Reason}")]
    public static partial void DiskDamaged(ILogger log, string reason);

    [LoggerMessage(43, LogLevel.Warning, "Disk tier: an object is dropped, and {Untold} others since the last such line: {Reason}")]
    public static partial void DiskDropped(ILogger log, long untold, string reason);

    [LoggerMessage(44, LogLevel.Error, "Disk tier: {Path} is deleted and not used any more: {Reason}")]
    public static partial void DiskRetired(ILogger log, string path, string reason);

    [LoggerMessage(45, LogLevel.Critical, "Disk tier: {Path} cannot be deleted, and may show removed objects after a restart: {Reason}")]
    public static partial void DiskNotDeleted(ILogger log, string path, string reason);

    [LoggerMessage(46, LogLevel.Error, "Disk tier: an object was not written because of a defect: {Key}")]
    public static partial void DiskDefect(ILogger log, Exception defect, string key);

    [LoggerMessage(47, LogLevel.Warning, "Disk tier: {Objects} objects are dropped, because the purges of them are not known: {Reason}")]
    public static partial void DiskDistrusted(ILogger log, int objects, string reason);

    [LoggerMessage(48, LogLevel.Error, "Disk tier: the purge journal cannot be written, so each purge checks all objects until it can: {Reason}")]
    public static partial void DiskJournalFailed(ILogger log, string reason);

    [LoggerMessage(
        EventId = 49,
        Message = "Disk tier: {Written} of {Objects} objects are written in {Milliseconds} ms, and {There} are there now, of {Memory} in memory; {End}")]
    public static partial void DiskSaved(ILogger log, LogLevel level, int written, int objects, long milliseconds, int there, int memory, string end);

    [LoggerMessage(51, LogLevel.Information, "Options are read anew")]
    public static partial void Reloaded(ILogger log);

    [LoggerMessage(52, LogLevel.Warning, "These options have other values now, which count after a restart: {Options}")]
    public static partial void NeedsRestart(ILogger log, string options);

    [LoggerMessage(54, LogLevel.Warning, "Option {Option}: the certificate of '{Subject}' is valid from {Start} to {End} only")]
    public static partial void CertificateExpired(ILogger log, string option, string subject, DateTime start, DateTime end);

    [LoggerMessage(53, LogLevel.Error, "The new options are not valid, and the old ones stay: {Reason}")]
    public static partial void NotReloaded(ILogger log, string reason);
}
