namespace CachingService;

/// <summary>What the host logs.</summary>
internal static partial class HostLog
{
    [LoggerMessage(21, LogLevel.Information, "Serving {Url}; admin: {AdminUrl}; origin: {Origin}")]
    public static partial void Started(ILogger log, string url, string adminUrl, string origin);

    [LoggerMessage(22, LogLevel.Warning, "Origin {Url} is not asked for {Time} after {Failures} failures in a row")]
    public static partial void Ejected(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(
        24, LogLevel.Warning,
        "Origin {Url} is not asked for {Time} while there is another address, after {Failures} answers in a row were errors or of no use")]
    public static partial void Avoided(ILogger log, string url, TimeSpan time, int failures);

    [LoggerMessage(23, LogLevel.Information, "Draining: new connections are refused after {Delay}, and responses in progress have {Timeout} more")]
    public static partial void Draining(ILogger log, TimeSpan delay, TimeSpan timeout);

    [LoggerMessage(
        26, LogLevel.Warning,
        "SIGHUP is ignored: options and certificates are read only at the start, so restart the service to change them; SIGTERM drains and stops it")]
    public static partial void HangUpIgnored(ILogger log);

    [LoggerMessage(25, LogLevel.Information, "Warm-up request to {Address} failed; the first requests load assemblies: {Reason}")]
    public static partial void WarmUpFailed(ILogger log, string address, string reason);
}
