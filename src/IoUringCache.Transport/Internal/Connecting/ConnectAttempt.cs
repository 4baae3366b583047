using System.Diagnostics;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Internal.Connecting;

/// <summary>
/// One connect to one address on one loop, as drawn at <see cref="ConnectState"/>. Loop thread only, except where a
/// member says otherwise; owned by its loop once started.
/// </summary>
/// <remarks>
/// The descriptor is this object's until the kernel has let go of it, also during a cancellation. Then it goes to the
/// connection, in the completion that connected it, or is closed, before <see cref="StartAsync"/> ends. Where the ring
/// has broken, no completion comes: it is closed at once.
/// </remarks>
internal sealed class ConnectAttempt : LoopItem
{
    private const int StartRequest = 1;
    private const int AbortRequest = 2;

    private readonly EventLoop _loop;
    private readonly int _socket;
    private readonly ReadOnlyMemory<byte> _address;
    private readonly Func<int, ConnectionContext> _createConnection;
    private readonly KernelOperations _operations;
    private readonly Outcome _outcome = new();

    private ConnectState _state;

    /// <summary>Why the attempt was given up or failed; the first reason counts. Any thread.</summary>
    private Exception? _reason;

    /// <summary>Whether it fails as soon as the kernel has let go of the descriptor.</summary>
    private bool _isFailing;

    /// <param name="loop">The loop of the attempt and of its connection.</param>
    /// <param name="socket">A stream socket, which this now owns.</param>
    /// <param name="address">The peer's address as a <c>sockaddr</c>.</param>
    /// <param name="createConnection">
    /// Makes and starts the connection of the connected descriptor, which the callee then owns. Loop thread.
    /// </param>
    internal ConnectAttempt(EventLoop loop, int socket, ReadOnlyMemory<byte> address, Func<int, ConnectionContext> createConnection)
    {
        _loop = loop;
        _socket = socket;
        _address = address;
        _createConnection = createConnection;
        _operations = new KernelOperations(loop, this);
    }

    /// <summary>
    /// Connects. The task ends where application code runs, when the kernel has let go of the descriptor. Any thread,
    /// once.
    /// </summary>
    internal Task<ConnectionContext> StartAsync()
    {
        _loop.Request(this, StartRequest);
        return _outcome.Task;
    }

    /// <summary>Gives up, unless it is connected already. Any thread, after <see cref="StartAsync"/>.</summary>
    /// <param name="reason">What <see cref="StartAsync"/> throws.</param>
    internal void Abort(Exception reason)
    {
        Interlocked.CompareExchange(ref _reason, reason, null);
        _loop.Request(this, AbortRequest);
    }

    internal override void OnRequests(int requests)
    {
        if ((requests & StartRequest) != 0)
        {
            _loop.Add(this);
            Connect();
            if (_loop.IsStopping)
            {
                OnLoopStopping();
            }
        }

        if ((requests & AbortRequest) != 0)
        {
            GiveUp();
        }
    }

    internal override void OnCompletion(in Completion completion)
    {
        _operations.OnCompletion(completion);
        if (completion.UserData.Kind == (byte)OperationKind.Connect)
        {
            OnConnectEnded(completion.Error);
        }

        EndIfIdle();
    }

    internal override void OnPauseEnded()
    {
        _operations.RetryCancellations();
        if (_state == ConnectState.Paused)
        {
            Connect();
        }
    }

    internal override void OnLoopStopping()
    {
        Interlocked.CompareExchange(ref _reason, new ObjectDisposedException(nameof(EventLoop), "The event loop is shutting down."), null);
        GiveUp();
    }

    internal override void OnLoopFailed(Exception reason)
    {
        if (_state is ConnectState.Idle or ConnectState.Connecting or ConnectState.Paused)
        {
            Interlocked.CompareExchange(ref _reason, new IOException("The event loop of the connection has ended.", reason), null);
            Fail();
        }
    }

    private void Connect()
    {
        _state = ConnectState.Connecting;
        _loop.Submissions.PrepareConnect(_socket, _address.Span, _operations.Begin(OperationKind.Connect));
    }

    private void OnConnectEnded(Errno error)
    {
        if (_isFailing)
        {
            return;
        }

        switch (error)
        {
            case Errno.None or Errno.EISCONN:
                _state = ConnectState.Connected;
                break;
            case Errno.EINTR or Errno.ECANCELED:
                Connect();
                break;
            case Errno.EAGAIN or Errno.EALREADY or Errno.ENOMEM or Errno.ENOBUFS:
                // EALREADY: an earlier connect of the socket was interrupted and goes on.
                _state = ConnectState.Paused;
                _operations.PauseAfter(error, _socket);
                break;
            default:
                Interlocked.CompareExchange(ref _reason, ConnectError.ToException(error), null);
                _isFailing = true;
                break;
        }
    }

    private void GiveUp()
    {
        if (_isFailing || _state is ConnectState.Connected or ConnectState.Failed)
        {
            return;
        }

        _isFailing = true;
        _operations.Cancel(OperationKind.Connect);
        EndIfIdle();
    }

    /// <summary>Waits for the completion of a cancellation as well: it finds its item by the slot.</summary>
    private void EndIfIdle()
    {
        if (!_operations.AreDone || _state == ConnectState.Failed)
        {
            return;
        }

        if (_isFailing)
        {
            _loop.Remove(this);
            Fail();
        }
        else if (_state == ConnectState.Connected)
        {
            _loop.Remove(this);
            _outcome.Connection = _createConnection(_socket);
            _loop.Schedule(_outcome);
        }
    }

    private void Fail()
    {
        Debug.Assert(_reason is not null, "An attempt that fails has a reason.");
        _state = ConnectState.Failed;
        try
        {
            SocketDescriptor.Close(_socket);
        }
        catch (IoUringException)
        {
            // Other code has closed it. Nothing is left to do.
        }

        _outcome.Failure = _reason;
        _loop.Schedule(_outcome);
    }

    /// <summary>Ends the task where application code runs. Set and scheduled once; owned by the attempt.</summary>
    private sealed class Outcome : LoopWorkItem
    {
        private readonly TaskCompletionSource<ConnectionContext> _source = new();

        internal Task<ConnectionContext> Task => _source.Task;

        internal ConnectionContext? Connection { get; set; }

        internal Exception? Failure { get; set; }

        public override void Execute()
        {
            switch (Failure)
            {
                case null:
                    _source.SetResult(Connection!);
                    break;
                case OperationCanceledException cancelled:
                    _source.SetCanceled(cancelled.CancellationToken);
                    break;
                default:
                    _source.SetException(Failure);
                    break;
            }
        }
    }
}

/// <summary>
/// What a <see cref="ConnectAttempt"/> does at the moment. Loop thread only.
/// <code>
///           start                 0 or EISCONN, not given up
///   Idle ----------> Connecting -----------------------------> Connected: the descriptor is the connection's
///    |                |  ^   |
///    |                |  |   | any other error
///    |                |  |   +-------------------------------+
///    |                |  | the loop's pause is over          |
///    |                |  +------------------- Paused         |
///    |                |                        ^  |          |
///    |                +--- EAGAIN, ENOMEM... --+  |          |
///    |                |                           |          |
///    |                | given up: cancelled,      | given up |
///    |                | final completion          |          v
///    |                +---------------------------+------> Failed: the descriptor is closed
///    +--- the loop has ended --------------------------------^
/// </code>
/// "Given up" is an abort of the caller, or the end of the loop. EINTR and an ECANCELED that nothing asked for submit
/// the connect again at once.
/// </summary>
internal enum ConnectState
{
    Idle,       // Not started.
    Connecting, // A connect is in the kernel.
    Paused,     // The kernel refused the connect; tried again after the loop's pause.
    Connected,  // Nothing is in the kernel, and a connection has the descriptor.
    Failed,     // Nothing is in the kernel, and the descriptor is closed.
}
