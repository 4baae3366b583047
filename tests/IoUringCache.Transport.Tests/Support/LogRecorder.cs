using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>Keeps what is logged, and lets a test wait for a message. Any thread.</summary>
internal sealed class LogRecorder(LogLevel minimum = LogLevel.Debug) : ILoggerFactory, ILoggerProvider
{
    private readonly Lock _lock = new();
    private readonly List<LogEntry> _entries = [];
    private readonly List<(Func<LogEntry, bool> Match, TaskCompletionSource<LogEntry> Found)> _waiting = [];

    internal IReadOnlyList<LogEntry> Entries
    {
        get
        {
            lock (_lock)
            {
                return [.. _entries];
            }
        }
    }

    public ILogger CreateLogger(string categoryName) => new Recorder(this, categoryName, minimum);

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public void Dispose()
    {
    }

    /// <summary>The first message that matches, past or to come.</summary>
    internal Task<LogEntry> WaitForAsync(Func<LogEntry, bool> match)
    {
        TaskCompletionSource<LogEntry> found = new(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_lock)
        {
            LogEntry? present = _entries.FirstOrDefault(match);
            if (present is not null)
            {
                found.SetResult(present);
            }
            else
            {
                _waiting.Add((match, found));
            }
        }

        return found.Task.InTime();
    }

    internal Task<LogEntry> WaitForAsync(int id) => WaitForAsync(entry => entry.Id.Id == id);

    private void Add(LogEntry entry)
    {
        lock (_lock)
        {
            _entries.Add(entry);
            foreach ((_, TaskCompletionSource<LogEntry> found) in _waiting.Where(waiting => waiting.Match(entry)))
            {
                found.TrySetResult(entry);
            }
        }
    }

    private sealed class Recorder(LogRecorder owner, string category, LogLevel minimum) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= minimum;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel))
            {
                owner.Add(new LogEntry(category, logLevel, eventId, formatter(state, exception), exception));
            }
        }
    }
}
