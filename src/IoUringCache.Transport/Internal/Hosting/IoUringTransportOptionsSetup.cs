using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Starts the options from what the application configured for the Sockets transport, and checks what came out of it.
/// Any thread; a singleton of the host.
/// </summary>
internal sealed class IoUringTransportOptionsSetup(IOptions<SocketTransportOptions> sockets)
    : IConfigureOptions<IoUringTransportOptions>, IValidateOptions<IoUringTransportOptions>
{
    /// <summary><c>MAX_TCP_KEEPIDLE</c> and <c>MAX_TCP_KEEPINTVL</c> of the kernel.</summary>
    private const int MaxKeepAliveSeconds = 32_767;

    /// <summary>Timers of .NET count milliseconds in 32 bits.</summary>
    private static readonly TimeSpan s_timeoutLimit = TimeSpan.FromDays(24);

    public void Configure(IoUringTransportOptions options)
    {
        SocketTransportOptions configured = sockets.Value;
        options.Backlog = configured.Backlog;
        options.NoDelay = configured.NoDelay;
        options.MaxReadBufferSize = configured.MaxReadBufferSize;
        options.MaxWriteBufferSize = configured.MaxWriteBufferSize;
        options.CreateBoundListenSocket = configured.CreateBoundListenSocket;
        if (configured.UnsafePreferInlineScheduling)
        {
            options.ApplicationScheduling = ApplicationScheduling.Inline;
        }
    }

    /// <summary>Sets the Sockets transport's options from this one's, for a host that falls back.</summary>
    internal static void CarryBack(IoUringTransportOptions options, SocketTransportOptions sockets)
    {
        sockets.Backlog = options.Backlog;
        sockets.NoDelay = options.NoDelay;
        sockets.MaxReadBufferSize = options.MaxReadBufferSize;
        sockets.MaxWriteBufferSize = options.MaxWriteBufferSize;
        sockets.CreateBoundListenSocket = options.CreateBoundListenSocket;
        sockets.UnsafePreferInlineScheduling = options.ApplicationScheduling == ApplicationScheduling.Inline;
    }

    public ValidateOptionsResult Validate(string? name, IoUringTransportOptions options) => Validate(options);

    /// <summary>Names every option that is out of its range.</summary>
    internal static ValidateOptionsResult Validate(IoUringTransportOptions options)
    {
        ValidateOptionsResultBuilder result = new();
        IoUringTransportAdvancedOptions advanced = options.Advanced;
        Check(Enum.IsDefined(options.Backend), options.Backend, "Auto, IoUring or Sockets");
        Check(Enum.IsDefined(options.ApplicationScheduling), options.ApplicationScheduling, "Adaptive, Inline or ThreadPool");
        Check(options.LoopCount is null or (>= 1 and <= 128), options.LoopCount, "null or from 1 to 128");
        Check(options.Backlog >= 1, options.Backlog, "at least 1");
        Check(options.MaxBusyConnectionsPerLoop is null or >= 1, options.MaxBusyConnectionsPerLoop, "null or at least 1");
        Check(options.MaxReadBufferSize is null or >= 0, options.MaxReadBufferSize, "null or at least 0 bytes");
        Check(options.MaxWriteBufferSize is null or >= 0, options.MaxWriteBufferSize, "null or at least 0 bytes");
        Check(
            options.ConnectTimeout is null || (options.ConnectTimeout > TimeSpan.Zero && options.ConnectTimeout <= s_timeoutLimit),
            options.ConnectTimeout,
            "null or above 0 and at most 24 days");
        Check(
            options.KeepAliveTime is null || (options.KeepAliveTime > TimeSpan.Zero && options.KeepAliveSeconds <= MaxKeepAliveSeconds),
            options.KeepAliveTime,
            "null or from 1 to 32,767 seconds");
        Check(options.CreateBoundListenSocket is not null, options.CreateBoundListenSocket, "a function");
        Check(
            advanced.RingEntries is >= 8 and <= 4096 && int.IsPow2(advanced.RingEntries),
            options.Advanced.RingEntries,
            "a power of two from 8 to 4096");
        Check(
            advanced.ReceiveBufferCount is >= 2 and <= 32768 && int.IsPow2(advanced.ReceiveBufferCount),
            options.Advanced.ReceiveBufferCount,
            "a power of two from 2 to 32768");
        Check(advanced.ReceiveBufferSize is >= 512 and <= 65536, options.Advanced.ReceiveBufferSize, "from 512 to 65536 bytes");

        // The buffers of a loop are one array.
        Check(
            (long)advanced.ReceiveBufferCount * advanced.ReceiveBufferSize <= Array.MaxLength,
            options.Advanced.ReceiveBufferSize,
            $"at most {Array.MaxLength} bytes in all {advanced.ReceiveBufferCount} buffers");
        return result.Build();

        // The option is named by the expression that reads it: options.Backlog, options.Advanced.RingEntries.
        void Check(bool isValid, object? value, string expected, [CallerArgumentExpression(nameof(value))] string option = "")
        {
            if (!isValid)
            {
                result.AddError($"must be {expected}, not {value ?? "null"}.", nameof(IoUringTransportOptions) + option[nameof(options).Length..]);
            }
        }
    }
}
