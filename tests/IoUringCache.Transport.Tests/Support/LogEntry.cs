using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>One message that a transport logged.</summary>
internal sealed record LogEntry(string Category, LogLevel Level, EventId Id, string Message, Exception? Exception);
