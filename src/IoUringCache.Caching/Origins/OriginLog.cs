namespace IoUringCache.Caching.Origins;

/// <summary>What the log says of origins. Any thread.</summary>
internal static partial class OriginLog
{
    [LoggerMessage(22, LogLevel.Warning, "Origin {Url} is not asked for {Time} after {Failures} failures in a row")]
    public static partial void Ejected(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(
        24, LogLevel.Warning,
        "Origin {Url} is not asked for {Time} while there is another address, after {Failures} answers in a row were errors or of no use")]
    public static partial void Avoided(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(33, LogLevel.Error, "The end point failed that was run for everybody who waits for {Key}")]
    public static partial void EndpointFailed(ILogger log, string key, Exception failure);
}
