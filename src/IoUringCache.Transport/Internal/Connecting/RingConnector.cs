using System.Buffers;
using System.Net;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// Connects on the loops of a group, of which it holds a reference: on the loop whose work the caller does, or on the
/// next in turn. Any thread; owned by its factory.
/// </summary>
internal sealed class RingConnector : Connector
{
    private readonly EventLoopGroup _loops;
    private readonly IoUringTransportOptions _options;
    private readonly TimeProvider _time;
    private readonly ConnectionSettings _settings;
    private readonly ILogger _logger;

    internal RingConnector(EventLoopGroup loops, IoUringTransportOptions options, TimeProvider time, ILogger logger)
    {
        _loops = loops;
        _options = options;
        _time = time;
        _settings = ConnectionSettings.From(options, isPaced: false) with { CountsAsBusy = false, ReadsDataFirst = true };
        _logger = logger;
        _loops.AddLog(logger);
    }

    internal override bool HasFailed => _loops.HasFailed;

    internal override Func<EndPoint, CancellationToken, Task<ConnectionContext>> GetConnect()
    {
        EventLoop? callers = _loops.FindCallers();
        return (endPoint, cancellationToken) => ConnectAsync(callers is { HasCapacity: true } ? callers : _loops.Next(), endPoint, cancellationToken);
    }

    internal override Func<EndPoint, CancellationToken, Task<Stream>> GetConnectStream()
    {
        Func<EndPoint, CancellationToken, Task<ConnectionContext>> connect = GetConnect();
        return async (endPoint, cancellationToken) =>
            new ConnectionStream((IoUringConnectionContext)await connect(endPoint, cancellationToken).ConfigureAwait(false), _time);
    }

    public override async ValueTask DisposeAsync()
    {
        try
        {
            await _loops.ReleaseAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A loop broke earlier: the log has it, and its connections were told.
        }
        finally
        {
            _loops.RemoveLog(_logger);
        }
    }

    private async Task<ConnectionContext> ConnectAsync(EventLoop loop, EndPoint endPoint, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        SocketAddress address = endPoint.Serialize();
        ReadOnlyMemory<byte> bytes = address.Buffer[..address.Size];
        ConnectAttempt attempt = new(loop, Open(endPoint, bytes.Span), bytes, socket => CreateConnection(loop, socket, endPoint));
        Task<ConnectionContext> connecting = attempt.StartAsync();
        await using CancellationTokenRegistration abort = cancellationToken.UnsafeRegister(
            static (attempt, token) => ((ConnectAttempt)attempt!).Abort(new OperationCanceledException(token)), attempt);
        return await connecting.ConfigureAwait(false);
    }

    private int Open(EndPoint endPoint, ReadOnlySpan<byte> address)
    {
        try
        {
            int socket = SocketDescriptor.OpenStream(address);
            try
            {
                SetOptions(endPoint, socket);
            }
            catch
            {
                SocketDescriptor.Close(socket);
                throw;
            }

            return socket;
        }
        catch (IoUringException failure)
        {
            throw ConnectError.ToException(failure.Error);
        }
    }

    private void SetOptions(EndPoint endPoint, int socket)
    {
        if (endPoint is not IPEndPoint)
        {
            return;
        }

        if (_options.NoDelay)
        {
            SocketDescriptor.SetNoDelay(socket, enabled: true);
        }

        if (_options.KeepAliveSeconds is { } seconds)
        {
            SocketDescriptor.SetKeepAlive(socket, seconds);
        }
    }

    private IoUringConnectionContext CreateConnection(EventLoop loop, int socket, EndPoint remote)
    {
        EndPoint? local = null;
        try
        {
            local = SocketAddresses.LocalOf(socket, remote);
        }
        catch (IoUringException)
        {
            // The kernel has no memory for the address.
        }

        ConnectionLifetime lifetime = new(loop);
        IoUringConnection connection = new(loop, socket, _settings, lifetime, _logger);
        connection.Start();
        return new IoUringConnectionContext(connection, lifetime, MemoryPool<byte>.Shared, local, remote);
    }
}
