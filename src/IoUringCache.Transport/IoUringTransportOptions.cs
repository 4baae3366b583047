using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Listening;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace IoUringCache.Transport;

/// <summary>
/// Options of the io_uring transport, read when the first end point is bound or the first connection is made. An option
/// that also exists on <see cref="SocketTransportOptions"/> defaults to the value configured there
/// (<c>UseSockets(...)</c>), and applies to the Sockets transport too when that serves.
/// </summary>
/// <remarks>
/// Every option but <see cref="CreateBoundListenSocket"/> can come from a section of the configuration, by
/// <c>builder.WebHost.UseIoUring(builder.Configuration.GetSection("IoUring"))</c>, enumerations by name. A value that
/// cannot be read stops the start with an <see cref="InvalidOperationException"/> that names the key, one out of its
/// range with an <see cref="Microsoft.Extensions.Options.OptionsValidationException"/> that names the option. Nothing is
/// bound then. A key that is no option has no effect, and is named in a warning.
/// </remarks>
/// <example><code>
/// builder.WebHost.UseIoUring(options =>
/// {
///     options.LoopCount = 2;
///     options.MaxReadBufferSize = 256 * 1024; // bytes
/// });
/// </code></example>
public sealed class IoUringTransportOptions
{
    /// <summary>Which back end serves the connections. Defaults to <see cref="TransportBackend.Auto"/>.</summary>
    public TransportBackend Backend { get; set; } = TransportBackend.Auto;

    /// <summary>Where application code runs. Defaults to <see cref="ApplicationScheduling.Adaptive"/>.</summary>
    public ApplicationScheduling ApplicationScheduling { get; set; } = ApplicationScheduling.Adaptive;

    /// <summary>
    /// Event loops, each one thread and one ring, shared by all end points of the process. 1 to 128. Defaults to
    /// <see langword="null"/>: one for each processor where loops run the application (Adaptive, Inline), half as many
    /// and at most 16 where the thread pool does.
    /// </summary>
    public int? LoopCount { get; set; }

    /// <summary>Length of the listen queue, in connections. At least 1. Defaults to 512.</summary>
    public int Backlog { get; set; } = 512;

    /// <summary>
    /// Busy connections of one loop above which the loop takes no new ones; it takes new ones again at half of that.
    /// When no loop takes any, accepting pauses and clients wait in the listen queue (<see cref="Backlog"/>). A
    /// connection is busy while its application has received bytes and has not asked for more: over HTTP/1.1 while a
    /// request is not completed, streamed responses included; over HTTP/2 only while a frame is read. At least 1.
    /// Defaults to <see langword="null"/>: no limit. Has no effect on the Sockets transport.
    /// </summary>
    /// <remarks>
    /// Connections that are already accepted are served. Set it above the number of requests that may wait for
    /// something outside of this process, such as long polls and live streams. Leave it off where only new connections
    /// to the same end points complete requests.
    /// </remarks>
    public int? MaxBusyConnectionsPerLoop { get; set; }

    /// <summary>Sets TCP_NODELAY on TCP connections (no Nagle delay). Defaults to <see langword="true"/>.</summary>
    public bool NoDelay { get; set; } = true;

    /// <summary>
    /// How long an outgoing connect may take, the resolving of the name and all addresses included. It then fails with
    /// <see cref="SocketError.TimedOut"/>. Above 0 and at most 24 days. Defaults to <see langword="null"/>: the
    /// system's own limit for each address, about two minutes (<c>tcp_syn_retries</c>, tcp(7)).
    /// </summary>
    public TimeSpan? ConnectTimeout { get; set; }

    /// <summary>
    /// How long an outgoing TCP connection is silent before the system asks whether the peer is there, and between
    /// such probes; after 9 without an answer (<c>tcp_keepalive_probes</c>, tcp(7)) the connection ends. 1 to 32,767
    /// seconds; fractions of a second count as a whole one. Defaults to <see langword="null"/>: never.
    /// </summary>
    public TimeSpan? KeepAliveTime { get; set; }

    /// <summary>
    /// Bytes received and not yet examined by the application at which a connection stops receiving; it resumes below
    /// half. <see langword="null"/> or 0 means no limit. Defaults to 1 MiB.
    /// </summary>
    public long? MaxReadBufferSize { get; set; } = 1024 * 1024;

    /// <summary>
    /// Bytes flushed and not yet sent at which <c>FlushAsync</c> waits; it resumes below half.
    /// <see langword="null"/> or 0 means no limit. Defaults to 64 KiB.
    /// </summary>
    public long? MaxWriteBufferSize { get; set; } = 64 * 1024;

    /// <summary>
    /// Makes the bound (not yet listening) socket of an end point, which the transport then owns; the handle of a file
    /// handle end point must not be owned by it. What it throws stops the start. Not null. Defaults to
    /// <see cref="SocketTransportOptions.CreateDefaultBoundListenSocket"/>.
    /// </summary>
    public Func<EndPoint, Socket> CreateBoundListenSocket { get; set; } = SocketTransportOptions.CreateDefaultBoundListenSocket;

    /// <summary>Sizes of rings and buffers, which few applications change.</summary>
    public IoUringTransportAdvancedOptions Advanced { get; } = new();

    /// <summary><see cref="KeepAliveTime"/> in seconds, as the kernel wants it.</summary>
    internal int? KeepAliveSeconds => KeepAliveTime is { } time ? (int)Math.Ceiling(time.TotalSeconds) : null;

    /// <summary>For tests, which play a process that is short of descriptors.</summary>
    internal DescriptorReserve Descriptors { get; set; } = DescriptorReserve.OfProcess;
}
