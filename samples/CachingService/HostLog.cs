using System.Net;

namespace CachingService;

/// <summary>What the host logs.</summary>
internal static partial class HostLog
{
    [LoggerMessage(21, LogLevel.Information, "Serving {Url}; admin: {AdminUrl}; origin: {Origin}")]
    public static partial void Started(ILogger log, string url, string adminUrl, string origin);

    [LoggerMessage(23, LogLevel.Information, "Draining: new connections are refused after {Delay}, and responses in progress have {Timeout} more")]
    public static partial void Draining(ILogger log, TimeSpan delay, TimeSpan timeout);

    [LoggerMessage(26, LogLevel.Warning, "These options have other values now, which count after a restart: {Options}")]
    public static partial void NeedsRestart(ILogger log, string options);

    [LoggerMessage(27, LogLevel.Warning, "Connection of {Client} closed: only proxies in ProxyProtocol:From may connect to this address")]
    public static partial void NoProxy(ILogger log, EndPoint? client);

    [LoggerMessage(28, LogLevel.Warning, "Connection of {Proxy} closed, for it has no PROXY header: {Reason}")]
    public static partial void NoProxyHeader(ILogger log, EndPoint? proxy, string reason);

    [LoggerMessage(29, LogLevel.Warning, "The access log has lost lines: {Count} ({Reason})")]
    public static partial void LinesLost(ILogger log, long count, string reason);

    [LoggerMessage(30, LogLevel.Information, "New connections get the certificate of {Subject} that ends on {End:u} ({Section})")]
    public static partial void CertificateRenewed(ILogger log, string section, string subject, DateTime end);

    [LoggerMessage(31, LogLevel.Warning, "Certificate files have changed and are not used: {Reason}")]
    public static partial void CertificateRefused(ILogger log, string reason);

    [LoggerMessage(25, LogLevel.Information, "Warm-up requests to {Address} failed, so clients' first requests take longer: {Reason}")]
    public static partial void WarmUpFailed(ILogger log, string address, string reason);
}
