using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// Keeps the failures of a log away from those who write to it: they are event loops with many connections, and a provider whose disk
/// is full must end none of them. What could not be written is lost. Any thread; owned by the factory of its host.
/// </summary>
internal sealed class UnfailingLogger(ILogger inner) : ILogger
{
    public bool IsEnabled(LogLevel logLevel)
    {
        try
        {
            return inner.IsEnabled(logLevel);
        }
        catch (Exception)
        {
            return false;
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => inner.BeginScope(state);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            inner.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception)
        {
            // There is nowhere left to tell it.
        }
    }
}
