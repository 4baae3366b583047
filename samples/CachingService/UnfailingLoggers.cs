using Microsoft.Extensions.DependencyInjection.Extensions;

namespace CachingService;

/// <summary>
/// Loggers that keep the failures of a log away from those who write to it: a provider whose disk is full must leave nobody waiting for a
/// fill that could not log its own failure. What could not be written is lost. Any thread; owned by the container of an application.
/// </summary>
internal sealed class UnfailingLoggers(ILoggerFactory inner) : ILoggerFactory
{
    /// <summary>Puts them around an application's loggers, whatever providers and filters those have.</summary>
    public static void Wrap(ILoggingBuilder logging) => logging.Services
        .AddSingleton<LoggerFactory>()
        .Replace(ServiceDescriptor.Singleton<ILoggerFactory>(services => new UnfailingLoggers(services.GetRequiredService<LoggerFactory>())));

    public ILogger CreateLogger(string categoryName) => new UnfailingLogger(inner.CreateLogger(categoryName));

    public void AddProvider(ILoggerProvider provider) => inner.AddProvider(provider);

    public void Dispose() => inner.Dispose();

    private sealed class UnfailingLogger(ILogger inner) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => inner.BeginScope(state);

        public bool IsEnabled(LogLevel logLevel) => inner.IsEnabled(logLevel);

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
}
