using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>A log that fails at every message, as one does whose disk is full or whose provider was disposed too early.</summary>
internal sealed class ThrowingLog : ILoggerFactory, ILogger
{
    private int _failures;

    internal int Failures => Volatile.Read(ref _failures);

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        Interlocked.Increment(ref _failures);
        throw new InvalidOperationException("The log is broken.");
    }

    public void Dispose()
    {
    }
}
