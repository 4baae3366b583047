namespace IoUringCache.Caching.Serving;

/// <summary>What is logged of slow clients: a line a second at most, whatever their number.</summary>
internal static partial class ReaderLog
{
    [LoggerMessage(12, LogLevel.Information, "Cut {Count} clients that read more slowly than Cache:MinReaderRate")]
    public static partial void Cut(ILogger log, int count);
}
