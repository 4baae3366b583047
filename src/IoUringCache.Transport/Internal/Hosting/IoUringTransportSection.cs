using IoUringCache.Transport.Internal.Diagnostics;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Sets the options from a section of the configuration, and names its unknown keys in one warning. Any thread; a
/// singleton of the host.
/// </summary>
internal sealed class IoUringTransportSection(IConfiguration section, ILoggerFactory? loggers) : IConfigureOptions<IoUringTransportOptions>
{
    /// <summary>Every option that a configuration can hold. Reflection would not find those that trimming has removed.</summary>
    private static readonly string[] s_keys =
    [
        nameof(IoUringTransportOptions.Backend),
        nameof(IoUringTransportOptions.ApplicationScheduling),
        nameof(IoUringTransportOptions.LoopCount),
        nameof(IoUringTransportOptions.Backlog),
        nameof(IoUringTransportOptions.MaxBusyConnectionsPerLoop),
        nameof(IoUringTransportOptions.NoDelay),
        nameof(IoUringTransportOptions.ConnectTimeout),
        nameof(IoUringTransportOptions.KeepAliveTime),
        nameof(IoUringTransportOptions.MaxReadBufferSize),
        nameof(IoUringTransportOptions.MaxWriteBufferSize),
        $"{nameof(IoUringTransportOptions.Advanced)}:{nameof(IoUringTransportAdvancedOptions.RingEntries)}",
        $"{nameof(IoUringTransportOptions.Advanced)}:{nameof(IoUringTransportAdvancedOptions.ReceiveBufferCount)}",
        $"{nameof(IoUringTransportOptions.Advanced)}:{nameof(IoUringTransportAdvancedOptions.ReceiveBufferSize)}",
    ];

    private int _hasLogged;

    public void Configure(IoUringTransportOptions options)
    {
        section.Bind(options);

        // The generated code passes over an empty text. An environment variable has no other way to say null.
        if (section[nameof(options.MaxReadBufferSize)] is "")
        {
            options.MaxReadBufferSize = null;
        }

        if (section[nameof(options.MaxWriteBufferSize)] is "")
        {
            options.MaxWriteBufferSize = null;
        }

        string[] unknown = FindUnknown();
        if (unknown.Length > 0 && loggers is not null && Interlocked.Exchange(ref _hasLogged, 1) == 0)
        {
            IoUringLog.UnknownKeys(new UnfailingLogger(loggers.CreateLogger(IoUringLog.Category)), string.Join(", ", unknown));
        }
    }

    /// <summary>A key without a value is a section. Each element of a list is a key.</summary>
    private string[] FindUnknown()
    {
        string prefix = section is IConfigurationSection { Path: var path } ? path + ConfigurationPath.KeyDelimiter : "";
        return
        [
            .. section.AsEnumerable(makePathsRelative: true)
                .Where(static item => item.Value is not null && !s_keys.Contains(item.Key, StringComparer.OrdinalIgnoreCase))
                .Select(item => prefix + item.Key)
                .Order(StringComparer.Ordinal),
        ];
    }
}
