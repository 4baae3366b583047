namespace IoUringCache.Caching.Serving;

/// <summary>What passes log: one line per failure of the origin.</summary>
internal static partial class PassLog
{
    [LoggerMessage(11, LogLevel.Warning, "Origin failed ({Detail}: {Reason}) for one client: {Key}")]
    public static partial void Failed(ILogger log, string key, string detail, string reason);
}
