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

    [LoggerMessage(32, LogLevel.Information, "Took over {Count} listening sockets of the service that ran before; it drains")]
    public static partial void TookOver(ILogger log, int count);

    [LoggerMessage(33, LogLevel.Warning, "The service that ran before does not confirm that it accepts no more: {Reason}")]
    public static partial void NotConfirmed(ILogger log, string reason);

    [LoggerMessage(34, LogLevel.Warning, "Addresses of the service that ran before are given up: {Addresses}")]
    public static partial void GaveUp(ILogger log, string addresses);

    [LoggerMessage(35, LogLevel.Information, "Process {ProcessId} starts in the place of this one, with {Count} listening sockets")]
    public static partial void HandingOver(ILogger log, int processId, int count);

    [LoggerMessage(36, LogLevel.Warning, "Process {ProcessId} has not taken over, and this service goes on: {Reason}")]
    public static partial void NotHandedOver(ILogger log, int processId, string reason);

    [LoggerMessage(37, LogLevel.Information, "Process {ProcessId} has taken over")]
    public static partial void HandedOver(ILogger log, int processId);

    [LoggerMessage(38, LogLevel.Warning, "Process {ProcessId} of user {UserId} may not take over at {Path}: only the same user's may")]
    public static partial void StrangerRefused(ILogger log, int processId, uint userId, string path);

    [LoggerMessage(25, LogLevel.Information, "Warm-up requests to {Address} failed, so clients' first requests take longer: {Reason}")]
    public static partial void WarmUpFailed(ILogger log, string address, string reason);
}
