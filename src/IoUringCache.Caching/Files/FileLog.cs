using IoUringCache.Ring;

namespace IoUringCache.Caching.Files;

/// <summary>What the serving of files logs: what an operator should look at, and nothing that a client can cause.</summary>
internal static partial class FileLog
{
    [LoggerMessage(31, LogLevel.Warning, "A file became shorter while it was sent, and its client was cut: {Key}")]
    public static partial void Shrunk(ILogger log, string key);

    [LoggerMessage(32, LogLevel.Warning, "A file cannot be opened ({Error}): {Key}")]
    public static partial void CannotOpen(ILogger log, string key, Errno error);
}
