using System.Buffers;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Listening;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Binds Kestrel's end points. The first one decides for all whether io_uring or the Sockets transport serves them; the
/// log, the host's <see cref="IoUringTransportInfo"/> and a metric tell the decision and its reason. Any thread; a
/// singleton of the host.
/// </summary>
internal sealed class IoUringTransportFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector, IDisposable
{
    private readonly IoUringTransportOptions _options;
    private readonly SocketTransportFactory _sockets;
    private readonly IMemoryPoolFactory<byte> _memoryPools;
    private readonly ILogger _logger;
    private readonly SemaphoreSlim _decisionLock = new(1);
    private readonly IoUringTransportInfo _info;

    public IoUringTransportFactory(
        IOptions<IoUringTransportOptions> options,
        IOptions<SocketTransportOptions> socketOptions,
        IMemoryPoolFactory<byte> memoryPools,
        ILoggerFactory loggers,
        IoUringTransportInfo info)
    {
        _info = info;
        _options = options.Value;
        IoUringTransportOptionsSetup.CarryBack(_options, socketOptions.Value);
        _sockets = new SocketTransportFactory(socketOptions, loggers);
        _memoryPools = memoryPools;
        _logger = new UnfailingLogger(loggers.CreateLogger(IoUringLog.Category));
    }

    /// <summary>How loops are acquired. Tests have kernels refuse.</summary>
    internal Func<EventLoopSettings, Task<EventLoopGroup>> AcquireLoops { get; init; } = AcquireLoopsAsync;

    /// <summary>The end points that the Sockets transport serves; named pipes and QUIC are left to theirs.</summary>
    public bool CanBind(EndPoint endpoint) => _sockets.CanBind(endpoint);

    /// <exception cref="AddressInUseException">Another socket is bound there.</exception>
    /// <exception cref="PlatformNotSupportedException">
    /// io_uring is required and unavailable, or the process may not open enough descriptors to have some for clients.
    /// </exception>
    /// <exception cref="IoUringException">io_uring is required, and the process has no descriptor or memory left for a loop.</exception>
    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        EventLoopGroup? loops = await DecideAsync();
        if (loops is null)
        {
            return await _sockets.BindAsync(endpoint, cancellationToken);
        }

        Socket? listenSocket = null;
        MemoryPool<byte>? memory = null;
        try
        {
            listenSocket = ListenSocket.Open(endpoint, _options);
            memory = CreateMemory();
            return new IoUringConnectionListener(listenSocket, loops, _options, memory, _logger);
        }
        catch
        {
            memory?.Dispose();
            listenSocket?.Dispose();
            await loops.ReleaseAsync();
            throw;
        }
    }

    /// <summary>The host has ended: its metric goes.</summary>
    public void Dispose() => TransportInfoMetric.Remove(_info);

    /// <summary>The pool of what lies over the connections: an application's own, or one that suits TLS better than Kestrel's.</summary>
    private MemoryPool<byte> CreateMemory() =>
        _memoryPools.GetType().Assembly == typeof(KestrelServer).Assembly ? new RecordSizedMemory(TimeProvider.System) : _memoryPools.Create();

    /// <summary>The loops to bind on, with a reference for the caller; null for the Sockets transport.</summary>
    private async Task<EventLoopGroup?> DecideAsync()
    {
        await _decisionLock.WaitAsync();
        try
        {
            if (_info.Backend == TransportBackend.Sockets)
            {
                return null;
            }

            if (_options.Backend == TransportBackend.Sockets)
            {
                IoUringLog.BackendSockets(_logger, "configured");
                Decide(new(TransportBackend.Sockets, "configured", _options.ApplicationScheduling));
                return null;
            }

            bool isFirst = _info.Backend is null;
            if (isFirst)
            {
                _options.Descriptors.Check();
            }

            EventLoopSettings settings = EventLoopSettings.From(_options);
            EventLoopGroup loops = await AcquireLoops(settings);
            if (isFirst)
            {
                IoUringLog.BackendIoUring(_logger, loops.Description);
                Decide(new(TransportBackend.IoUring, "supported", settings.Scheduling, settings.LoopCount, loops.RingFeatures));
            }

            return loops;
        }
        catch (Exception exception) when (
            exception is PlatformNotSupportedException or IoUringException && _options.Backend == TransportBackend.Auto && _info.Backend is null)
        {
            IoUringLog.BackendFallback(_logger, exception.Message);
            Decide(new(TransportBackend.Sockets, exception.Message, _options.ApplicationScheduling, IsFallback: true));
            return null;
        }
        finally
        {
            _decisionLock.Release();
        }
    }

    private void Decide(TransportState state)
    {
        _info.State = state;
        TransportInfoMetric.Add(_info);
    }

    /// <summary>The loops for these settings, with a reference for the caller.</summary>
    /// <exception cref="PlatformNotSupportedException">io_uring is unavailable.</exception>
    internal static Task<EventLoopGroup> AcquireLoopsAsync(EventLoopSettings settings) => IoUring.IsSupported
        ? EventLoopGroup.AcquireAsync(settings)
        : throw new PlatformNotSupportedException(IoUring.UnavailableReason);
}
