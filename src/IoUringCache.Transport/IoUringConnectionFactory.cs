using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Connecting;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Hosting;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport;

/// <summary>
/// Makes outgoing connections on io_uring: TCP over IPv4 and IPv6, and Unix stream sockets. They are the same
/// connections as those that a server accepts. Where the kernel does not offer or permit io_uring, it makes those of
/// Kestrel's Sockets transport, unless <see cref="IoUringTransportOptions.Backend"/> requires io_uring. Any thread.
/// </summary>
/// <remarks>
/// The first connect starts the event loops, or shares those of end points and factories with equal options. Their
/// threads stay until the last of these is disposed, so one factory serves a whole application.
/// </remarks>
/// <example><code>
/// IoUringTransportOptions options = new() { ConnectTimeout = TimeSpan.FromSeconds(5) };
/// await using IoUringConnectionFactory factory = new(options);
/// await using ConnectionContext connection = await factory.ConnectAsync(new DnsEndPoint("localhost", port));
/// await connection.Transport.Output.WriteAsync("hello"u8.ToArray());
/// </code></example>
public sealed class IoUringConnectionFactory : IConnectionFactory, IAsyncDisposable
{
    private readonly IoUringTransportOptions _options;
    private readonly ILogger _logger;
    private readonly SemaphoreSlim _lock = new(1);
    private readonly CancellationTokenSource _disposal = new();

    private Connector? _connector;

    /// <summary>Makes a factory; nothing starts before the first connect.</summary>
    /// <param name="options">
    /// Options of loops and connections, which must not change afterwards. Defaults to <see langword="null"/>: those
    /// that each option defaults to.
    /// </param>
    /// <param name="loggers">
    /// For the events of connections, in category <c>IoUringCache.Transport</c>. Defaults to
    /// <see langword="null"/>: no log.
    /// </param>
    /// <exception cref="OptionsValidationException">An option is out of its range; the message names it.</exception>
    public IoUringConnectionFactory(IoUringTransportOptions? options = null, ILoggerFactory? loggers = null)
    {
        _options = options ?? new IoUringTransportOptions();
        ValidateOptionsResult validity = IoUringTransportOptionsSetup.Validate(_options);
        if (validity.Failed)
        {
            throw new OptionsValidationException(Options.DefaultName, typeof(IoUringTransportOptions), validity.Failures);
        }

        _logger = new UnfailingLogger((loggers ?? NullLoggerFactory.Instance).CreateLogger(IoUringLog.Category));
    }

    /// <summary>How loops are acquired. Tests have kernels refuse.</summary>
    internal Func<EventLoopSettings, Task<EventLoopGroup>> AcquireLoops { get; init; } = IoUringTransportFactory.AcquireLoopsAsync;

    /// <summary>Resolves names; <see cref="Dns"/>, but for tests.</summary>
    internal Func<string, AddressFamily, CancellationToken, Task<IPAddress[]>> Resolve { get; init; } = Dns.GetHostAddressesAsync;

    /// <summary>Measures the delay between attempts.</summary>
    internal TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>
    /// Connects. A name's addresses are tried as RFC 8305 says: the families in turn, the next address after 250 ms or
    /// as soon as the one before has failed; the first connection wins. The connection is on the event loop whose work
    /// the calling thread does, if there is one and it has capacity, otherwise on the next loop in turn.
    /// </summary>
    /// <param name="endpoint">
    /// An <see cref="IPEndPoint"/>, a <see cref="DnsEndPoint"/> or a <see cref="UnixDomainSocketEndPoint"/>.
    /// </param>
    /// <param name="cancellationToken">Ends the resolving and the connects.</param>
    /// <returns>
    /// The connection, which the caller owns and disposes. Its code continues where application code runs
    /// (<see cref="IoUringTransportOptions.ApplicationScheduling"/>).
    /// </returns>
    /// <exception cref="NotSupportedException">The end point is of another kind.</exception>
    /// <exception cref="SocketException">
    /// The name has no address; the system or the peer refuses, with the same
    /// <see cref="SocketException.SocketErrorCode"/> as from <see cref="Socket.ConnectAsync(EndPoint)"/>, the last one of
    /// several addresses; <see cref="SocketError.TimedOut"/> after <see cref="IoUringTransportOptions.ConnectTimeout"/>.
    /// </exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="ObjectDisposedException">The factory is disposed.</exception>
    /// <exception cref="PlatformNotSupportedException">io_uring is required and unavailable.</exception>
    public ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        return endpoint is IPEndPoint or DnsEndPoint or UnixDomainSocketEndPoint
            ? new ValueTask<ConnectionContext>(ConnectInTimeAsync(endpoint, static connector => connector.GetConnect(), cancellationToken))
            : throw new NotSupportedException($"No connection can be made to an end point of type {endpoint.GetType()}.");
    }

    /// <summary>
    /// Ends the connects that are under way, and releases the loops. If no end point and no other factory shares them,
    /// they end, and reset the connections that are open; so dispose those first.
    /// </summary>
    /// <returns>A task that ends when loops of this factory alone have ended.</returns>
    public async ValueTask DisposeAsync()
    {
        await _disposal.CancelAsync().ConfigureAwait(false);
        await _lock.WaitAsync().ConfigureAwait(false);
        Connector? connector = _connector;
        _connector = null;
        _lock.Release();
        if (connector is not null)
        {
            await connector.DisposeAsync().ConfigureAwait(false);
        }
    }

    /// <summary>As <see cref="ConnectAsync"/>, for a stream that owns its connection and behaves as a socket's.</summary>
    internal Task<Stream> ConnectStreamAsync(EndPoint endpoint, CancellationToken cancellationToken) =>
        ConnectInTimeAsync(endpoint, static connector => connector.GetConnectStream(), cancellationToken);

    private async Task<T> ConnectInTimeAsync<T>(
        EndPoint endPoint, Func<Connector, Func<EndPoint, CancellationToken, Task<T>>> choose, CancellationToken cancellationToken)
        where T : IAsyncDisposable
    {
        ObjectDisposedException.ThrowIf(_disposal.IsCancellationRequested, this);
        using CancellationTokenSource limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _disposal.Token);
        limit.CancelAfter(_options.ConnectTimeout ?? Timeout.InfiniteTimeSpan);
        try
        {
            Connector connector = await GetConnectorAsync(limit.Token).ConfigureAwait(false);
            Func<EndPoint, CancellationToken, Task<T>> connect = choose(connector);
            if (endPoint is not DnsEndPoint name)
            {
                return await connect(endPoint, limit.Token).ConfigureAwait(false);
            }

            IReadOnlyList<IPEndPoint> addresses = await AddressResolver.ResolveAsync(name, Resolve, limit.Token).ConfigureAwait(false);
            return await ConnectRace.RunAsync(addresses, connect, Time, limit.Token).ConfigureAwait(false);
        }
        catch (Exception failure) when (limit.IsCancellationRequested)
        {
            cancellationToken.ThrowIfCancellationRequested();
            ObjectDisposedException.ThrowIf(_disposal.IsCancellationRequested, this);
            throw failure is OperationCanceledException ? new SocketException((int)SocketError.TimedOut) : failure;
        }
    }

    /// <summary>The connector, made at the first connect, and anew when all its loops have failed.</summary>
    private async ValueTask<Connector> GetConnectorAsync(CancellationToken cancellationToken)
    {
        if (Volatile.Read(ref _connector) is { HasFailed: false } made)
        {
            return made;
        }

        await _lock.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (_connector is not { HasFailed: false })
            {
                Connector? failed = _connector;
                _connector = await CreateConnectorAsync().ConfigureAwait(false);
                if (failed is not null)
                {
                    await failed.DisposeAsync().ConfigureAwait(false);
                }
            }

            return _connector;
        }
        finally
        {
            _lock.Release();
        }
    }

    private async Task<Connector> CreateConnectorAsync()
    {
        if (_options.Backend != TransportBackend.Sockets)
        {
            try
            {
                return new RingConnector(await AcquireLoops(EventLoopSettings.From(_options)).ConfigureAwait(false), _options, Time, _logger);
            }
            catch (Exception refusal) when (
                _options.Backend == TransportBackend.Auto && refusal is PlatformNotSupportedException or IoUringException)
            {
                // Sockets connect instead.
            }
        }

        return new SocketConnector(_options, _logger);
    }
}
