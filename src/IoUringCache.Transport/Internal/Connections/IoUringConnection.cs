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
/// One connection on its loop; receives by <see cref="Receiver"/> and sends by <see cref="Sender"/>. Loop thread only,
/// unless a member says otherwise; owned by its loop once started.
/// </summary>
/// <remarks>
/// The descriptor and the slot are released only when no operation is in the kernel (<see cref="KernelOperations"/>)
/// and no other thread is in a send. So a late completion finds its own connection, no thread sends to a reused
/// descriptor, and a reset really leaves: the kernel sends none while an operation or a call holds the file.
/// </remarks>
internal sealed class IoUringConnection : LoopItem, IDuplexPipe
{
    /// <summary>Worded as by the Sockets transport, for logs that people search.</summary>
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
    private readonly Receiver _receiver;

    private CloseState _closeState;
    private bool _sendsReset;

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
        _reader = new ConnectionReader(loop, settings, RequestResume);
        _receiver = new Receiver(loop, socket, _operations, _reader, lifetime, logger);
        _sendQueue = new SendQueue(loop, socket, settings.MaxWriteBufferSize);
        _sender = new Sender(this, _operations, loop, socket, _sendQueue);
        _writer = new ConnectionWriter(loop, _sendQueue, RequestSend, RequestCompletion);
    }

    public PipeReader Input => _reader;

    public PipeWriter Output => _writer;

    internal ConnectionReader Reader => _reader;

    internal ConnectionWriter Writer => _writer;

    /// <inheritdoc cref="ZeroCopy.IZeroCopyFeature.IsPaced"/>
    internal bool IsPaced => _settings.IsPaced;

    /// <summary>Whether the connection has not begun to end. Loop thread.</summary>
    internal bool IsOpen => _closeState == CloseState.Open;

    /// <summary>Whether the application has completed its output. Loop thread.</summary>
    internal bool IsOutputCompleted { get; private set; }

    /// <summary>Whether the peer has reset the connection. Loop thread.</summary>
    internal bool IsPeerGone => _receiver.IsPeerGone;

    internal IConnectionSchedulerFeature Scheduler => _loop.Scheduler;

    /// <summary>The descriptor for options and addresses, not for data. Any thread.</summary>
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

    /// <summary>
    /// Whether the peer has ended and all its data is received, by what the kernel knows: the loop may not have handled
    /// that end yet. Any thread but the loop's, where it is false: there the loop has handled what it knows.
    /// </summary>
    internal bool HasEndToCome
    {
        get
        {
            try
            {
                return !_loop.IsOwner && SocketView.Poll(0, SelectMode.SelectRead) && SocketView.Available == 0;
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
            {
                return true;
            }
        }
    }

    /// <summary>Begins to receive. Any thread.</summary>
    internal void Start() => Request(ConnectionRequests.Start);

    /// <summary>
    /// Ends the connection at once, with a reset, or FIN without a reason. The first reason counts. Any thread.
    /// </summary>
    internal void Abort(Exception? reason)
    {
        _lifetime.SetAbortReason(reason);
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
            CloseIfIdle(); // Another thread may have ended its send.
            return;
        }

        if ((asked & ConnectionRequests.Abort) != 0)
        {
            Reset(_lifetime.AbortReason);
            return;
        }

        IsOutputCompleted |= (asked & ConnectionRequests.CompleteOutput) != 0;
        _receiver.Continue((asked & ConnectionRequests.ResumeReceive) != 0);
        _sender.Continue();
    }

    internal override void OnCompletion(in Completion completion)
    {
        _operations.OnCompletion(completion);
        switch ((OperationKind)completion.UserData.Kind)
        {
            case OperationKind.Receive:
                _receiver.OnCompletion(completion);
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
        _receiver.OnPauseEnded();
        if (_closeState == CloseState.Open)
        {
            _sender.OnPauseEnded();
        }
    }

    internal override void OnBuffersAvailable() => _receiver.OnBuffersAvailable();

    internal override bool TryRearm(int threadIndex) => _receiver.TryRearm(threadIndex);

    internal override void SendFlushed()
    {
        if (_sendQueue.SendFlushed())
        {
            RequestSend();
        }
    }

    internal override void LeaveFlushedToLoop() => RequestSend();

    internal override void OnLoopStopping() => Reset(new ConnectionAbortedException("The event loop is shutting down."));

    internal override void OnLoopFailed(Exception reason)
    {
        if (_closeState == CloseState.Closed)
        {
            return;
        }

        // What the loop took to send stays taken: the kernel may still read it.
        _receiver.OnLoopFailed(reason);
        _sendQueue.Stop();
        SpinWait.SpinUntil(_sendQueue.TryRuleOutDirect); // The loop cannot be asked to close later. The direct send does not wait either.
        Close(reset: true);
    }

    /// <summary>Sends FIN behind all data and ends reading.</summary>
    internal void Finish()
    {
        if (_closeState != CloseState.Open)
        {
            return;
        }

        try
        {
            // Receiving is cancelled, not shut down: a shut-down receive drops the client's data, so the close sends no
            // reset, and a client with a full window waits until its own time-out.
            SocketDescriptor.ShutdownSend(_socket);
        }
        catch (IoUringException error)
        {
            Reset(error);
            return;
        }

        _closeState = CloseState.Finishing;
        ConnectionAbortedException reason = new(CompletedGracefully);
        IoUringLog.ConnectionWriteFin(_logger, _lifetime.IdFor(_logger), reason.Message);
        _sendQueue.Stop();
        _receiver.Stop(reason);
        CloseIfIdle();
    }

    /// <summary>Cancels everything in the kernel; then the descriptor closes, with a reset or with FIN.</summary>
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
            IoUringLog.ConnectionWriteRst(_logger, _lifetime.IdFor(_logger), reason.Message);
        }
        else
        {
            IoUringLog.ConnectionWriteFin(_logger, _lifetime.IdFor(_logger), reason.Message);
        }

        _sendQueue.Stop();
        _receiver.Stop(reason);
        _sender.Cancel();
        CloseIfIdle();
    }

    internal void ResetAfter(Errno error) => Reset(_lifetime.LogFailure(_logger, "Sending", error));

    internal void ResetAfter(Exception error)
    {
        IoUringLog.ConnectionError(_logger, _lifetime.IdFor(_logger), error);
        Reset(error);
    }

    private void CloseIfIdle()
    {
        if (_operations.AreDone && (_closeState is CloseState.Finishing or CloseState.Resetting) && _sendQueue.TryRuleOutDirect())
        {
            Close(_sendsReset);
            _loop.Remove(this);
        }
    }

    private void Close(bool reset)
    {
        _closeState = CloseState.Closed;
        lock (_socketViewLock)
        {
            _socketViewClosed = true;
            _socketView?.Dispose();
        }

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
            // Other code has closed it. Nothing is left to do.
            IoUringLog.ConnectionError(_logger, _lifetime.IdFor(_logger), error);
        }

        _lifetime.OnDescriptorClosed();
    }

    internal void RequestSend() => Request(ConnectionRequests.Send);

    /// <summary>
    /// Leaves a flush to the thread pool while a read waits (HTTP/2, WebSockets): more flushes may follow.
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

/// <summary>
/// How far a connection is from its end. Loop thread only.
/// <code>
///            output complete and sent: the peer sees FIN, receiving is cancelled
///   Open ------------------------------------------------------------> Finishing ---+
///     |                                                                             | no operation is in the
///     | abort, send error, loop stops: cancel everything                            | kernel, no direct send
///     +-------------------------------------------------------------> Resetting ----+-------> Closed
///                                              (RST at close; FIN with FinOnError or without a reason)
/// </code>
/// </summary>
internal enum CloseState
{
    Open,
    Finishing, // FIN is sent. The descriptor closes when the kernel and other threads have let go of it.
    Resetting, // Cancelled. The descriptor closes likewise, with a reset or FIN.
    Closed,
}
