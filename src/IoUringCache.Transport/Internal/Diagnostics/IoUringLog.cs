using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// Every log message of the transport, in category <c>IoUringCache.Transport</c>. The ids of connection events are
/// those of Kestrel's Sockets transport. Any thread.
/// </summary>
internal static partial class IoUringLog
{
    internal const string Category = "IoUringCache.Transport";

    [LoggerMessage(1, LogLevel.Information, "IO backend: io_uring ({Description})", EventName = "BackendIoUring")]
    internal static partial void BackendIoUring(ILogger logger, string description);

    [LoggerMessage(2, LogLevel.Warning, "IO backend: sockets ({Reason})", EventName = "BackendFallback")]
    internal static partial void BackendFallback(ILogger logger, string reason);

    [LoggerMessage(3, LogLevel.Information, "IO backend: sockets ({Reason})", EventName = "BackendSockets")]
    internal static partial void BackendSockets(ILogger logger, string reason);

    [LoggerMessage(4, LogLevel.Debug, @"Connection id ""{ConnectionId}"" paused.", EventName = "ConnectionPause")]
    internal static partial void ConnectionPause(ILogger logger, string connectionId);

    [LoggerMessage(5, LogLevel.Debug, @"Connection id ""{ConnectionId}"" resumed.", EventName = "ConnectionResume")]
    internal static partial void ConnectionResume(ILogger logger, string connectionId);

    [LoggerMessage(6, LogLevel.Debug, @"Connection id ""{ConnectionId}"" received FIN.", EventName = "ConnectionReadFin")]
    internal static partial void ConnectionReadFin(ILogger logger, string connectionId);

    [LoggerMessage(7, LogLevel.Debug, @"Connection id ""{ConnectionId}"" sending FIN because: ""{Reason}""", EventName = "ConnectionWriteFin")]
    internal static partial void ConnectionWriteFin(ILogger logger, string connectionId, string reason);

    [LoggerMessage(8, LogLevel.Debug, @"Connection id ""{ConnectionId}"" sending RST because: ""{Reason}""", EventName = "ConnectionWriteRst")]
    internal static partial void ConnectionWriteRst(ILogger logger, string connectionId, string reason);

    [LoggerMessage(14, LogLevel.Debug, @"Connection id ""{ConnectionId}"" communication error.", EventName = "ConnectionError")]
    internal static partial void ConnectionError(ILogger logger, string connectionId, Exception error);

    [LoggerMessage(19, LogLevel.Debug, @"Connection id ""{ConnectionId}"" reset.", EventName = "ConnectionReset")]
    internal static partial void ConnectionReset(ILogger logger, string connectionId);

    [LoggerMessage(20, LogLevel.Warning, "Accepting on {EndPoint} failed with {Error}; trying again in {Pause}.", EventName = "AcceptPaused")]
    internal static partial void AcceptPaused(ILogger logger, string endPoint, string error, TimeSpan pause);

    [LoggerMessage(21, LogLevel.Error, "An event loop failed; its connections end.", EventName = "LoopFailed")]
    internal static partial void LoopFailed(ILogger logger, Exception error);

    [LoggerMessage(
        22,
        LogLevel.Warning,
        "Accepting on {EndPoint} pauses: {InUse} of {Limit} descriptors are in use, and {Reserve} are kept for files and for connections to "
        + "others. Raise the limit with `LimitNOFILE=` or `ulimit -n`, or have clients leave sooner.",
        EventName = "DescriptorsShort")]
    internal static partial void DescriptorsShort(ILogger logger, string endPoint, long inUse, long limit, long reserve);

    [LoggerMessage(
        23,
        LogLevel.Warning,
        "The configuration has keys that are no options of the transport and have no effect: {Keys}. Correct or remove them; "
        + "the package's README lists the options.",
        EventName = "UnknownKeys")]
    internal static partial void UnknownKeys(ILogger logger, string keys);
}
