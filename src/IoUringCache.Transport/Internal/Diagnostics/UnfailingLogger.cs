using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Diagnostics;

/// <summary>
/// Swallows the exceptions of a logger, and the entry with them: a provider whose disk is full must not end an event
/// loop. Those of one logger are equal, so that a host's factories count as one log. Any thread; owned by a factory.
/// </summary>
internal sealed record UnfailingLogger(ILogger Inner) : ILogger
{
    public bool IsEnabled(LogLevel logLevel)
    {
        try
        {
            return Inner.IsEnabled(logLevel);
        }
        catch (Exception)
        {
            return false;
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => Inner.BeginScope(state);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            Inner.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception)
        {
            // There is nowhere left to tell it.
        }
    }
}
