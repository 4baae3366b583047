using IoUringCache.Caching.Options;
using Microsoft.Extensions.Hosting.Systemd;
using Microsoft.Extensions.Logging.Console;

namespace CachingService.Options;

/// <summary>
/// The section <c>Logging</c>: levels, and the form of the lines on the console. Each begins with its time in UTC; under systemd with its level, as
/// the journal wants it. Any thread.
/// </summary>
internal static class LoggingOptions
{
    private const string TimeFormat = "yyyy-MM-ddTHH:mm:ss.fffZ";

    private static readonly Option<Form> s_form = new(
        "Logging:Console:FormatterName",
        SystemdHelpers.IsSystemdService() ? nameof(Form.Systemd) : nameof(Form.Simple),
        form: "",
        help: "",
        ValueParser.Choice<Form>);

    /// <summary>What the framework can write.</summary>
    private enum Form
    {
        Json,
        Simple,
        Systemd,
    }

    /// <summary>The framework tells of an unknown level with a stack, and of an unknown form not at all.</summary>
    /// <exception cref="OptionException">A level or the form is not known.</exception>
    public static void Check(IConfiguration configuration)
    {
        s_form.Read(configuration);
        foreach ((string key, string? value) in configuration.GetSection("Logging").AsEnumerable())
        {
            if (!string.IsNullOrEmpty(value) && key.Contains(":LogLevel:", StringComparison.OrdinalIgnoreCase))
            {
                new Option<LogLevel>(key, nameof(LogLevel.None), form: "", help: "", ValueParser.Choice<LogLevel>).Parse(key, value);
            }
        }
    }

    /// <summary>Has an application log to the console.</summary>
    public static void Apply(IConfiguration configuration, ILoggingBuilder logging)
    {
        logging

            // The host gives every request an Activity where this category could log anything; Kestrel tells of what fails as well. Before
            // the configuration, which may ask for it.
            .AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None)
            .AddConfiguration(configuration.GetSection("Logging"))

            // Repeats with a stack what stops the start; the program says it in a sentence.
            .AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
        logging.Services
            .Configure<SimpleConsoleFormatterOptions>(static lines =>
                (lines.SingleLine, lines.TimestampFormat, lines.UseUtcTimestamp) = (true, TimeFormat + " ", true))
            .Configure<JsonConsoleFormatterOptions>(static lines => (lines.TimestampFormat, lines.UseUtcTimestamp) = (TimeFormat, true));

        // The section's own options of a form come after ours; the form itself has the last word, for systemd's support sets it too.
        logging.AddConsole().Services.PostConfigure<ConsoleLoggerOptions>(console => console.FormatterName = s_form.Read(configuration).ToString());
    }
}
