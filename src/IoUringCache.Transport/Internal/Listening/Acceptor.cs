using System.Diagnostics;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// Accepts the connections of one listening socket, by a multishot accept on one loop or by one accept for each
/// connection. It pauses while Kestrel leaves too many connections untaken, all loops are overloaded, descriptors are
/// short or the kernel refuses, as drawn at <see cref="AcceptState"/>. Loop thread only, except where a member says
/// otherwise; owned by its listener.
/// </summary>
internal sealed class Acceptor : LoopItem
{
    private const int StartRequest = 1;
    private const int ReconsiderRequest = 2;
    private const int StopRequest = 4;

    /// <summary>More than any limit, so the next accept counts them first.</summary>
    private const int UnknownDescriptors = int.MaxValue;

    private static readonly TimeSpan s_pauseAfterError = TimeSpan.FromMilliseconds(100);

    /// <summary>Any code of the process may close descriptors, so they are counted again after this.</summary>
    private static readonly TimeSpan s_pauseForDescriptors = TimeSpan.FromMilliseconds(20);

    /// <summary>A shortage that lasts is logged once a minute.</summary>
    private static readonly TimeSpan s_warnAgainAfter = TimeSpan.FromMinutes(1);

    private readonly EventLoop _loop;
    private readonly Socket _listenSocket;
    private readonly int _descriptor;
    private readonly Action<int> _accepted;
    private readonly Func<bool> _isFull;
    private readonly Action<Exception> _failed;

    /// <summary>
    /// Whether to accept one connection in each turn of the loop, and not the whole listen queue: clients that queued
    /// up during a pause then come in as fast as the loops serve them.
    /// </summary>
    private readonly bool _isOneByOne;

    private readonly DescriptorReserve _descriptors;
    private readonly int _backlog;
    private readonly ILogger _logger;
    private readonly KernelOperations _operations;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private AcceptState _state;
    private bool _isMultishot;

    /// <summary>Descriptors in use when they were last counted.</summary>
    private int _descriptorsInUse = UnknownDescriptors;

    private long? _warnedAt;
    private bool _stopping;

    /// <param name="loop">The loop that accepts.</param>
    /// <param name="listenSocket">The listening socket; stays open until <see cref="StopAsync"/> has ended.</param>
    /// <param name="accepted">Called with each connected descriptor, which the callee then owns. Loop thread.</param>
    /// <param name="isFull">
    /// Whether accept capacity is used up. After it becomes false, <see cref="Reconsider"/> is called. Loop thread.
    /// </param>
    /// <param name="options">Options of the end point.</param>
    /// <param name="failed">Called with the reason why nothing is accepted any more; once at most, any thread.</param>
    /// <param name="logger">For errors and warnings.</param>
    internal Acceptor(
        EventLoop loop,
        Socket listenSocket,
        Action<int> accepted,
        Func<bool> isFull,
        IoUringTransportOptions options,
        Action<Exception> failed,
        ILogger logger)
    {
        _loop = loop;
        _listenSocket = listenSocket;
        _descriptor = (int)listenSocket.Handle;
        _accepted = accepted;
        _isFull = isFull;
        _isOneByOne = options.MaxBusyConnectionsPerLoop is not null;
        _descriptors = options.Descriptors;
        _backlog = options.Backlog;
        _failed = failed;
        _logger = logger;
        _operations = new KernelOperations(loop, this);
    }

    /// <summary>Starts accepting. Any thread.</summary>
    internal void Start()
    {
        _descriptors.Add(_backlog);
        _loop.Request(this, StartRequest);
    }

    /// <summary>Compares with the accept capacity again, which has changed. Any thread.</summary>
    internal void Reconsider() => _loop.Request(this, ReconsiderRequest);

    /// <summary>
    /// Ends accepting. The task completes when the kernel no longer uses the listening socket. Any thread.
    /// </summary>
    internal Task StopAsync()
    {
        _loop.Request(this, StopRequest);
        return _stopped.Task;
    }

    internal override void OnRequests(int requests)
    {
        if ((requests & StartRequest) != 0)
        {
            _loop.Add(this);
            AcceptUnlessFull();
            if (_loop.IsStopping)
            {
                Stop();
            }
        }

        if ((requests & ReconsiderRequest) != 0 && !_stopping)
        {
            if (_state == AcceptState.Full)
            {
                AcceptUnlessFull();
            }
            else
            {
                PauseIfFull();
            }
        }

        if ((requests & StopRequest) != 0)
        {
            Stop();
        }
    }

    internal override void OnCompletion(in Completion completion)
    {
        _operations.OnCompletion(completion);
        switch ((OperationKind)completion.UserData.Kind)
        {
            case OperationKind.Accept:
                OnAccepted(completion);
                break;
            case OperationKind.Timer when _state == AcceptState.Waiting && !_stopping:
                AcceptUnlessFull();
                break;
            default:
                break;
        }

        StopIfIdle();
    }

    internal override void OnPauseEnded() => _operations.RetryCancellations();

    internal override bool TryRearm(int threadIndex)
    {
        if (_state != AcceptState.Accepting || _operations.IsSubmittedBy(threadIndex) || _stopping)
        {
            return false;
        }

        _operations.Rearm(OperationKind.Accept);
        return true;
    }

    internal override void OnLoopStopping() => Stop();

    internal override void OnLoopFailed(Exception reason)
    {
        if (_state == AcceptState.Stopped)
        {
            return;
        }

        _state = AcceptState.Stopped;
        _descriptors.Remove(_backlog);
        _failed(reason);
        _stopped.SetResult();
    }

    private string Name => _listenSocket.LocalEndPoint?.ToString() ?? "?";

    private void Accept()
    {
        _isMultishot = !_isOneByOne && _descriptors.AllowsBurst(_descriptorsInUse);
        UserData name = _operations.BeginRearmable(OperationKind.Accept);
        if (_isMultishot)
        {
            _loop.Submissions.PrepareAcceptMultishot(_descriptor, name);
        }
        else
        {
            _loop.Submissions.PrepareAccept(_descriptor, name);
        }

        _state = AcceptState.Accepting;
    }

    private void OnAccepted(in Completion completion)
    {
        if (completion.Result >= 0)
        {
            _descriptorsInUse = completion.Result;
            _accepted(completion.Result);
            PauseIfFull();
        }

        if (completion.HasMore || _stopping)
        {
            return;
        }

        // It was for one, or the kernel ended the multishot accept: cancelled, because the completion queue was full,
        // or with an error.
        if (completion.Result >= 0 || completion.Error is Errno.ECANCELED or Errno.ECONNABORTED or Errno.EINTR)
        {
            AcceptUnlessFull();
        }
        else
        {
            WaitAfter(completion.Error);
        }
    }

    /// <summary>
    /// Connections that the kernel accepts before it sees the cancellation are served. Near the limit of descriptors a
    /// multishot, which takes the whole listen queue, gives way to single accepts.
    /// </summary>
    private void PauseIfFull()
    {
        if (_operations.Contains(OperationKind.Accept)
            && _state == AcceptState.Accepting
            && (_isFull() || (_isMultishot && !_descriptors.AllowsBurst(_descriptorsInUse))))
        {
            _operations.Cancel(OperationKind.Accept);
            _state = AcceptState.Cancelling;
        }
    }

    /// <summary>
    /// No freed capacity is missed: the request to reconsider comes after the capacity. If this looks after the
    /// capacity was freed, it sees it; if it looks before, the request comes later, to this thread, and finds the state
    /// Full. A request during a cancellation may do nothing, because this looks again at its end. Each reason to pause
    /// makes a request when it ends, so the last one finds no other.
    /// </summary>
    private void AcceptUnlessFull()
    {
        if (_descriptors.IsReached(ref _descriptorsInUse))
        {
            WaitForDescriptors();
        }
        else if (!_isFull())
        {
            Accept();
        }
        else if (_state != AcceptState.Full)
        {
            IoUringMetrics.CountAcceptPause();
            _state = AcceptState.Full;
        }
    }

    private void WaitAfter(Errno errno)
    {
        if (errno == Errno.EAGAIN)
        {
            // Another user of the socket made it non-blocking.
            SocketDescriptor.SetBlocking(_descriptor);
        }

        // Out of descriptors or memory: the connections stay in the listen queue, and trying at once would spin.
        IoUringLog.AcceptPaused(_logger, Name, errno.ToString(), s_pauseAfterError);
        _descriptorsInUse = UnknownDescriptors;
        Wait(s_pauseAfterError);
    }

    private void WaitForDescriptors()
    {
        if (_state != AcceptState.Waiting)
        {
            IoUringMetrics.CountAcceptPause();
            if (_warnedAt is not { } warnedAt || Stopwatch.GetElapsedTime(warnedAt) >= s_warnAgainAfter)
            {
                _warnedAt = Stopwatch.GetTimestamp();
                IoUringLog.DescriptorsShort(_logger, Name, _descriptors.PauseAt, _descriptors.Limit, _descriptors.Reserve);
            }
        }

        Wait(s_pauseForDescriptors);
    }

    private void Wait(TimeSpan pause)
    {
        _loop.Submissions.PrepareTimeout(pause, _operations.Begin(OperationKind.Timer));
        _state = AcceptState.Waiting;
    }

    private void Stop()
    {
        if (_stopping)
        {
            return;
        }

        _stopping = true;
        _operations.Cancel(OperationKind.Accept);
        _operations.Cancel(OperationKind.Timer);
        StopIfIdle();
    }

    private void StopIfIdle()
    {
        if (_stopping && _operations.AreDone && _state != AcceptState.Stopped)
        {
            _state = AcceptState.Stopped;
            _descriptors.Remove(_backlog);
            _loop.Remove(this);
            _stopped.SetResult();
        }
    }
}

/// <summary>
/// What an <see cref="Acceptor"/> does at the moment. Loop thread only. Capacity is used up while too many connections
/// are not taken, and while all loops are over the limit of busy connections. Near the limit of descriptors a multishot
/// is cancelled, and single accepts follow.
/// <code>
///                            no capacity                final completion
///   Idle ---start---> Accepting -------> Cancelling ----------------------+
///                      |    ^                                             v
///                      |    +------------------ yes ------------------ capacity?
///                      |    |                                          |      ^
///                      |    |                                       no |      | timer
///                      |    |                                          v      |
///                      |    +------------- Reconsider --------------- Full    |
///                      |                                                      |
///                      +--- EMFILE, ENFILE, ENOMEM... ----------> Waiting ----+
///                      +--- the reserve of descriptors begins --> Waiting     |
///                      +--- ended by the kernel for another reason: capacity?
///   any ---stop---> Stopped, when no operation is in the kernel any more
/// </code>
/// </summary>
internal enum AcceptState
{
    Idle,       // Not started.
    Accepting,  // An accept is in the kernel.
    Cancelling, // The accept is being cancelled.
    Full,       // Nothing is in the kernel until Kestrel takes connections or a loop has less to do.
    Waiting,    // A timer is in the kernel: it refused the accept, or only the reserve of descriptors is left.
    Stopped,    // Nothing is accepted any more.
}
