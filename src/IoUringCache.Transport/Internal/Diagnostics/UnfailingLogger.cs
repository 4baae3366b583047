using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// Swallows the exceptions of a logger, and the entry with them: a provider whose disk is full must not end an event
/// loop. Any thread; owned by the transport factory of its host.
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
