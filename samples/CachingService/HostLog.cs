namespace CachingService;

/// <summary>What the host logs.</summary>
internal static partial class HostLog
{
    [LoggerMessage(21, LogLevel.Information, "Serving {Url}; admin: {AdminUrl}; origin: {Origin}")]
    public static partial void Started(ILogger log, string url, string adminUrl, string origin);
}
