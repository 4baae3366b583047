using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// What happens to one connection on its loop: it starts, receives (<c>.Receive</c>), sends (<see cref="Sender"/>) and ends.
/// <para>
/// Buffers in the kernel's hands: received ones until the completion that names them, sent ones until the send's final completion, also
/// after a cancellation. The descriptor and the slot are given back only when no operation is left (<see cref="KernelOperations"/>) and no
/// other thread is in a send, so a late completion always finds its own connection, nobody sends to a descriptor that is another's by
/// then, and a reset really leaves: the kernel sends none while an operation or a call holds the file.
/// </para>
/// Loop thread only, except where a member says otherwise. Owned by its loop once started.
/// </summary>
internal sealed partial class IoUringConnection : LoopItem, IDuplexPipe
{
    private const string CompletedGracefully = "The io_uring transport's send loop completed gracefully.";

    private readonly EventLoop _loop;
    private readonly int _socket;
    private readonly ConnectionSettings _settings;
    private readonly ILogger _logger;
    private readonly ConnectionLifetime _lifetime;
    private readonly ConnectionReader _reader;
    private readonly SendQueue _sendQueue;
    private readonly Sender _sender;
    private readonly ConnectionWriter _writer;

    private readonly KernelOperations _operations;

    private CloseState _closeState;
    private bool _sendsReset;
    private Exception? _abortReason;

    // Guards the application's view of the descriptor against its close.
    private readonly Lock _socketViewLock = new();
    private Socket? _socketView;
    private bool _socketViewClosed;

    internal IoUringConnection(EventLoop loop, int socket, ConnectionSettings settings, ConnectionLifetime lifetime, ILogger logger)
    {
        _loop = loop;
        _socket = socket;
        _settings = settings;
        _lifetime = lifetime;
        _logger = logger;
        _operations = new KernelOperations(loop, this);
        _reader = new ConnectionReader(loop, settings.MaxReadBufferSize, RequestResume);
        _sendQueue = new SendQueue(loop, socket, settings.MaxWriteBufferSize);
        _sender = new Sender(this, _operations, loop, socket, _sendQueue);
        _writer = new ConnectionWriter(loop, _sendQueue, RequestSend, RequestCompletion);
    }

    /// <summary>What the application reads.</summary>
    public PipeReader Input => _reader;

    /// <summary>What the application writes.</summary>
    public PipeWriter Output => _writer;

    /// <summary>The same, for the zero-copy feature.</summary>
    internal ConnectionWriter Writer => _writer;

    /// <inheritdoc cref="ZeroCopy.IZeroCopyFeature.IsPaced"/>
    internal bool IsPaced => _settings.IsPaced;

    /// <summary>Whether nothing has ended the connection. Loop thread.</summary>
    internal bool IsOpen => _closeState == CloseState.Open;

    /// <summary>Whether the application has written its last. Loop thread.</summary>
    internal bool IsOutputCompleted { get; private set; }

    /// <summary>Whether the peer has reset the connection, so that no send can succeed. Loop thread.</summary>
    internal bool IsPeerGone => _isPeerGone;

    /// <summary>Runs application code where this connection's runs.</summary>
    internal IConnectionSchedulerFeature Scheduler => _loop.Scheduler;

    /// <summary>
    /// A view of the connection's descriptor for options and addresses; reading or writing data through it is not supported. Any thread.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The connection is closing.</exception>
    internal Socket SocketView
    {
        get
        {
            lock (_socketViewLock)
            {
                ObjectDisposedException.ThrowIf(_socketViewClosed, typeof(Socket));
                return _socketView ??= new Socket(new SafeSocketHandle(_socket, ownsHandle: false));
            }
        }
    }

    /// <summary>Begins to receive. Any thread.</summary>
    internal void Start() => Request(ConnectionRequests.Start);

    /// <summary>
    /// Ends the connection at once, with a reset; without a reason with FIN, as Kestrel's Sockets transport does it. Any thread; the
    /// first reason counts.
    /// </summary>
    internal void Abort(Exception? reason)
    {
        Interlocked.CompareExchange(ref _abortReason, reason, null);
        Request(ConnectionRequests.Abort);
    }

    internal override void OnRequests(int requests)
    {
        if (_closeState == CloseState.Closed)
        {
            return;
        }

        ConnectionRequests asked = (ConnectionRequests)requests;
        if ((asked & ConnectionRequests.Start) != 0)
        {
            _loop.Add(this);
            if (_loop.IsStopping)
            {
                OnLoopStopping();
                return;
            }
        }

        if (_closeState != CloseState.Open)
        {
            CloseIfIdle(); // A thread that was sending has come out of it, whatever else is asked for together with that.
            return;
        }

        if ((asked & ConnectionRequests.Abort) != 0)
        {
            Reset(_abortReason);
            return;
        }

        IsOutputCompleted |= (asked & ConnectionRequests.CompleteOutput) != 0;
        ContinueReceive((asked & ConnectionRequests.ResumeReceive) != 0);
        _sender.Continue();
    }

    internal override void OnCompletion(in Completion completion)
    {
        _operations.OnCompletion(completion);
        switch ((OperationKind)completion.UserData.Kind)
        {
            case OperationKind.Receive:
                OnReceived(completion);
                break;
            case OperationKind.Send or OperationKind.PollWritable:
                _sender.OnCompletion(completion);
                break;
            default:
                Debug.Assert(completion.UserData.Kind == (byte)OperationKind.Cancel, "A connection receives, sends, waits and cancels.");
                break;
        }

        CloseIfIdle();
    }

    internal override void OnPauseEnded()
    {
        _operations.RetryCancellations();
        if (_receiveState == ReceiveState.Waiting)
        {
            ArmOrPause();
        }

        if (_closeState == CloseState.Open)
        {
            _sender.OnPauseEnded();
        }
    }

    internal override void SendFlushed()
    {
        if (_sendQueue.SendFlushed())
        {
            RequestSend();
        }
    }

    internal override void LeaveFlushedToLoop() => RequestSend();

    internal override void OnLoopStopping() => Reset(new ConnectionAbortedException("The server is shutting down."));

    internal override void OnLoopFailed(Exception reason)
    {
        if (_closeState == CloseState.Closed)
        {
            return;
        }

        EndReceive(reason);
        _sendQueue.Close();
        SpinWait.SpinUntil(_sendQueue.TryAwaitDirect); // The loop cannot be asked to close later. The direct send does not wait either.
        Close(reset: true);
    }

    /// <summary>All is sent: the peer gets FIN, and the reader learns that the connection is over.</summary>
    internal void Finish()
    {
        if (_closeState != CloseState.Open)
        {
            return;
        }

        try
        {
            // FIN leaves at once. Receiving is cancelled and not shut down: a receive would go on after that until it has dropped all that
            // the client had sent, so that nothing resets the connection at its close, and without telling a client whose window is
            // full that there is room again. That client would wait until its own time-out.
            SocketDescriptor.ShutdownSend(_socket);
        }
        catch (IoUringException error)
        {
            Reset(error);
            return;
        }

        _closeState = CloseState.Finishing;
        ConnectionAbortedException reason = new(CompletedGracefully);
        IoUringLog.ConnectionWriteFin(_logger, _lifetime, reason.Message);
        _sendQueue.Close();
        CancelReceive();
        EndReceive(reason);
        CloseIfIdle();
    }

    /// <summary>Takes everything back from the kernel; the descriptor closes with a reset when that is done.</summary>
    internal void Reset(Exception? reason)
    {
        if (_closeState != CloseState.Open)
        {
            return;
        }

        _closeState = CloseState.Resetting;
        _sendsReset = reason is not null && !_settings.FinOnError;
        reason ??= new ConnectionAbortedException(CompletedGracefully);
        if (_sendsReset)
        {
            IoUringLog.ConnectionWriteRst(_logger, _lifetime, reason.Message);
        }
        else
        {
            IoUringLog.ConnectionWriteFin(_logger, _lifetime, reason.Message);
        }

        _sendQueue.Close();
        CancelReceive();
        _sender.Cancel();
        EndReceive(reason);
        CloseIfIdle();
    }

    /// <summary>Logs an error and resets the connection.</summary>
    internal void ResetAfter(Exception error)
    {
        IoUringLog.ConnectionError(_logger, _lifetime, error);
        Reset(error);
    }

    private void CloseIfIdle()
    {
        if (_operations.AreDone && _closeState is CloseState.Finishing or CloseState.Resetting && _sendQueue.TryAwaitDirect())
        {
            Close(_sendsReset);
            _loop.Remove(this);
        }
    }

    private void Close(bool reset)
    {
        _closeState = CloseState.Closed;
        CloseSocketView();
        try
        {
            if (reset)
            {
                SocketDescriptor.CloseWithReset(_socket);
            }
            else
            {
                SocketDescriptor.Close(_socket);
            }
        }
        catch (IoUringException error)
        {
            // Somebody else has closed it. Nothing is left to do, and the loop's other connections are none the worse.
            IoUringLog.ConnectionError(_logger, _lifetime, error);
        }

        _lifetime.OnDescriptorClosed();
    }

    private void CloseSocketView()
    {
        lock (_socketViewLock)
        {
            _socketViewClosed = true;
            _socketView?.Dispose();
        }
    }

    /// <summary>What was refused is tried again when the loop's pause is over.</summary>
    internal void PauseAfter(Errno errno)
    {
        if (errno == Errno.EAGAIN)
        {
            // The application made the descriptor non-blocking, through the view that it has of it.
            SocketDescriptor.SetBlocking(_socket);
        }

        _loop.Pause(this);
    }

    internal Exception ErrorOf(string what, Errno errno)
    {
        if (errno is Errno.ECONNRESET or Errno.EPIPE)
        {
            IoUringLog.ConnectionReset(_logger, _lifetime);
            return new ConnectionResetException("The connection was reset by the peer.");
        }

        IOException error = new($"{what} failed with {errno}.");
        IoUringLog.ConnectionError(_logger, _lifetime, error);
        return error;
    }

    internal void RequestSend() => Request(ConnectionRequests.Send);

    /// <summary>
    /// Whoever flushes while a read waits has more than one thing to say, as HTTP/2 and WebSockets have: the next flush is not far. With
    /// HTTP/1.1 nobody reads while an answer is written; there the loop sends for all connections at once.
    /// </summary>
    private void RequestSend(bool canWait)
    {
        if (canWait && _reader.IsWaiting && !_loop.IsOwner)
        {
            _loop.SendSoon(this);
        }
        else
        {
            _loop.Request(this, (int)ConnectionRequests.Send, canWait);
        }
    }

    private void RequestResume() => Request(ConnectionRequests.ResumeReceive);

    private void RequestCompletion(Exception? error)
    {
        if (error is null)
        {
            Request(ConnectionRequests.CompleteOutput);
        }
        else
        {
            Abort(error);
        }
    }

    private void Request(ConnectionRequests requests) => _loop.Request(this, (int)requests);
}
