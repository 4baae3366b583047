namespace IoUringCache.Caching.Filling;

/// <summary>
/// What fills log: one line per fill that met a failure. Keys hold printable ASCII only, because everything else is refused at the door.
/// </summary>
internal static partial class FillLog
{
    [LoggerMessage(1, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}) and answered at attempt {Attempt}: {Key}")]
    public static partial void Recovered(ILogger log, string key, string detail, string reason, int attempt);

    [LoggerMessage(2, LogLevel.Warning, "Origin failed ({Detail}: {Reason}) after {Bytes} bytes of the body, {Readers} readers cut: {Key}")]
    public static partial void Failed(ILogger log, string key, string detail, string reason, long bytes, int readers);

    [LoggerMessage(3, LogLevel.Error, "Fill failed because of a defect: {Key}")]
    public static partial void Defect(ILogger log, Exception defect, string key);

    [LoggerMessage(4, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}), {Readers} requests get {Status}: {Key}")]
    public static partial void GaveUp(ILogger log, string key, string detail, string reason, int readers, int status);

    [LoggerMessage(
        7, LogLevel.Warning,
        "Origin {Url} sends a Date that is {Behind} s behind this machine's clock, so what it sends is stale on arrival; compare the clocks")]
    public static partial void StaleDate(ILogger log, string url, long behind);

    [LoggerMessage(6, LogLevel.Warning, "Disk failed ({Reason}) after {Bytes} bytes of the body, {Readers} readers cut: {Key}")]
    public static partial void DiskFailed(ILogger log, string key, string reason, long bytes, int readers);

    [LoggerMessage(5, LogLevel.Warning, "Origin failed before headers ({Detail}: {Reason}), {Readers} requests get a stale object: {Key}")]
    public static partial void StoodIn(ILogger log, string key, string detail, string reason, int readers);
}
