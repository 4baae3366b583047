using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace CachingService.Tests.Infrastructure;

/// <summary>Keeps what a service logs, so that a test can count lines, or fails to.</summary>
internal sealed class LogLines : ILoggerProvider
{
    private readonly ConcurrentQueue<(string Category, LogLevel Level, string Text)> _lines = new();

    /// <summary>Warnings and errors of the code of the service and of its cache.</summary>
    public IReadOnlyList<string> Warnings =>
        [
            .. _lines
                .Where(line => line.Level >= LogLevel.Warning && IsOurs(line.Category))
                .Select(line => line.Text),
        ];

    /// <summary>Errors from anywhere: an unhandled exception in a handler shows here.</summary>
    public IReadOnlyList<string> Errors => [.. _lines.Where(line => line.Level >= LogLevel.Error).Select(line => line.Text)];

    /// <summary>Whether each line fails, as where a disk is full.</summary>
    public bool IsBroken { get; set; }

    public ILogger CreateLogger(string categoryName) => new Writer(this, categoryName);

    public void Dispose()
    {
    }

    private static bool IsOurs(string category) =>
        category.StartsWith("CachingService", StringComparison.Ordinal)
        || category.StartsWith("IoUringCache.Caching", StringComparison.Ordinal)
        || category.StartsWith("IoUringCache.Clustering", StringComparison.Ordinal);

    private sealed class Writer(LogLines lines, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel))
            {
                lines._lines.Enqueue((category, logLevel, $"{formatter(state, exception)}{(exception is null ? "" : " " + exception)}"));
                if (lines.IsBroken)
                {
                    throw new IOException("No space left on device");
                }
            }
        }
    }
}
