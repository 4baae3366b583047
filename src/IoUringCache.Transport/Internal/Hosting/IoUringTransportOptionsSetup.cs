using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Starts the options from what the application configured for the Sockets transport, and checks what came out of it. Any thread; a
/// singleton of the host.
/// </summary>
internal sealed class IoUringTransportOptionsSetup(IOptions<SocketTransportOptions> sockets)
    : IConfigureOptions<IoUringTransportOptions>, IValidateOptions<IoUringTransportOptions>
{
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

    /// <summary>The way back, for a host that falls back: what was set for this transport holds for the other one too.</summary>
    internal static void CarryBack(IoUringTransportOptions options, SocketTransportOptions sockets)
    {
        sockets.Backlog = options.Backlog;
        sockets.NoDelay = options.NoDelay;
        sockets.MaxReadBufferSize = options.MaxReadBufferSize;
        sockets.MaxWriteBufferSize = options.MaxWriteBufferSize;
        sockets.CreateBoundListenSocket = options.CreateBoundListenSocket;
        sockets.UnsafePreferInlineScheduling = options.ApplicationScheduling == ApplicationScheduling.Inline;
    }

    public ValidateOptionsResult Validate(string? name, IoUringTransportOptions options)
    {
        ValidateOptionsResultBuilder result = new();
        Check(Enum.IsDefined(options.Backend), nameof(options.Backend), options.Backend, "Auto, IoUring or Sockets");
        Check(
            Enum.IsDefined(options.ApplicationScheduling),
            nameof(options.ApplicationScheduling),
            options.ApplicationScheduling,
            "ThreadPool, Inline or Adaptive");
        Check(options.LoopCount is null or (>= 1 and <= 128), nameof(options.LoopCount), options.LoopCount, "null or from 1 to 128");
        Check(
            options.RingEntries is >= 8 and <= 4096 && int.IsPow2(options.RingEntries),
            nameof(options.RingEntries),
            options.RingEntries,
            "a power of two from 8 to 4096");
        Check(
            options.ReceiveBufferCount is >= 2 and <= 32768 && int.IsPow2(options.ReceiveBufferCount),
            nameof(options.ReceiveBufferCount),
            options.ReceiveBufferCount,
            "a power of two from 2 to 32768");
        Check(
            options.ReceiveBufferSize is >= 512 and <= 65536,
            nameof(options.ReceiveBufferSize),
            options.ReceiveBufferSize,
            "from 512 to 65536 bytes");

        // The buffers of a loop are one array.
        Check(
            (long)options.ReceiveBufferCount * options.ReceiveBufferSize <= Array.MaxLength,
            nameof(options.ReceiveBufferSize),
            options.ReceiveBufferSize,
            $"at most {Array.MaxLength} bytes in all {options.ReceiveBufferCount} buffers");
        Check(options.Backlog >= 1, nameof(options.Backlog), options.Backlog, "at least 1");
        Check(
            options.LoopBacklogHighMark is null or >= 1, nameof(options.LoopBacklogHighMark), options.LoopBacklogHighMark, "null or at least 1");
        Check(
            options.LoopBacklogLowMark is null || options.LoopBacklogHighMark is not null,
            nameof(options.LoopBacklogLowMark),
            options.LoopBacklogLowMark,
            $"null without {nameof(options.LoopBacklogHighMark)}");
        Check(
            options.LoopBacklogLowMark is null || options.LoopBacklogLowMark is >= 1 && !(options.LoopBacklogLowMark > options.LoopBacklogHighMark),
            nameof(options.LoopBacklogLowMark),
            options.LoopBacklogLowMark,
            $"null or from 1 to {nameof(options.LoopBacklogHighMark)} ({options.LoopBacklogHighMark})");
        Check(options.MaxReadBufferSize is null or >= 0, nameof(options.MaxReadBufferSize), options.MaxReadBufferSize, "null or at least 0 bytes");
        Check(
            options.MaxWriteBufferSize is null or >= 0,
            nameof(options.MaxWriteBufferSize),
            options.MaxWriteBufferSize,
            "null or at least 0 bytes");
        Check(options.CreateBoundListenSocket is not null, nameof(options.CreateBoundListenSocket), "null", "a function");
        return result.Build();

        void Check(bool isValid, string option, object? value, string expected)
        {
            if (!isValid)
            {
                result.AddError($"must be {expected}, not {value}.", $"{nameof(IoUringTransportOptions)}.{option}");
            }
        }
    }
}
