using System.Buffers;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Connections;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// One bound end point. One loop accepts and deals connections in turn to the loops that take new ones; while no loop
/// does, accepting pauses. Any thread; owned by Kestrel, which unbinds and then disposes it.
/// </summary>
internal sealed class IoUringConnectionListener : IConnectionListener
{
    private readonly Socket _listenSocket;
    private readonly EventLoopGroup _loops;
    private readonly ConnectionSettings _settings;
    private readonly MemoryPool<byte> _memoryPool;
    private readonly ILogger _logger;
    private readonly AcceptQueue _queue;
    private readonly Acceptor _acceptor;

    /// <summary>The local address of every connection, where the listener is bound to a single one.</summary>
    private readonly EndPoint? _commonLocalEndPoint;

    private int _unbound;
    private int _disposed;

    internal IoUringConnectionListener(
        Socket listenSocket, EventLoopGroup loops, IoUringTransportOptions options, MemoryPool<byte> memoryPool, ILogger logger)
    {
        _listenSocket = listenSocket;
        _loops = loops;
        _settings = ConnectionSettings.From(options, ListenSocket.IsPaced(listenSocket));
        _memoryPool = memoryPool;
        _logger = logger;
        EndPoint = listenSocket.LocalEndPoint!;
        _commonLocalEndPoint = EndPoint is IPEndPoint { Address: var address } && (address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any))
            ? null
            : EndPoint;
        _loops.AddLog(logger);
        EventLoop accepting = loops.Next();
        _queue = new AcceptQueue(options.Backlog, accepting);
        _acceptor = new Acceptor(
            accepting, listenSocket, OnAccepted, () => _queue.IsFull || !_loops.HasCapacity, options, _queue.End, logger);
        _queue.CapacityAvailable = _acceptor.Reconsider;
        _loops.CapacityChanged += _acceptor.Reconsider;
        _acceptor.Start();
    }

    /// <summary>The bound address, a port of 0 resolved.</summary>
    public EndPoint EndPoint { get; }

    public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) => _queue.TakeAsync(cancellationToken);

    /// <summary>
    /// Stops listening. Connections that it has accepted can still be taken: their clients may have sent a request, and
    /// another process may listen on the same socket. Then <see cref="AcceptAsync"/> ends with null.
    /// </summary>
    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        if (Interlocked.Exchange(ref _unbound, 1) != 0)
        {
            return;
        }

        _loops.CapacityChanged -= _acceptor.Reconsider;
        await _acceptor.StopAsync();
        _listenSocket.Dispose();
        _queue.End();
    }

    /// <summary>
    /// Unbinds, resets connections that Kestrel has not taken, as the kernel does with those in its own queue, and
    /// releases the loops, which end with their last listener and reset connections.
    /// </summary>
    public async ValueTask DisposeAsync()
    {
        await UnbindAsync();
        if (Interlocked.Exchange(ref _disposed, 1) == 0)
        {
            try
            {
                foreach (ConnectionContext connection in _queue.TakeAll())
                {
                    connection.Abort(new ConnectionAbortedException("The listener was disposed before the connection was taken."));
                    await connection.DisposeAsync();
                }

                await _loops.ReleaseAsync();
            }
            finally
            {
                _loops.RemoveLog(_logger);
                _memoryPool.Dispose();
            }
        }
    }

    private void OnAccepted(int socket)
    {
        EndPoint? remote;
        EndPoint? local;
        try
        {
            remote = SocketAddresses.RemoteOf(socket, EndPoint);
            local = _commonLocalEndPoint ?? SocketAddresses.LocalOf(socket, EndPoint);
        }
        catch (IoUringException)
        {
            remote = local = null; // The kernel has no memory for the addresses.
        }

        if (remote is null)
        {
            SocketDescriptor.Close(socket); // The peer has reset it already.
            return;
        }

        EventLoop loop = _loops.Next();
        ConnectionLifetime lifetime = new(loop);
        IoUringConnection connection = new(loop, socket, _settings, lifetime, _logger);
        IoUringConnectionContext context = new(connection, lifetime, _memoryPool, local, remote);
        connection.Start();
        _queue.Add(context);
    }
}
