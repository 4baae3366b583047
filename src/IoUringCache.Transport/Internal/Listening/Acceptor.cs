using System.Diagnostics;
using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// The accepting of one listening socket: a multishot accept on one loop, or one connection a turn, with back-pressure (it stops while the
/// application leaves too many connections untaken, or all loops have too much to do) and patience (it waits before the process is out of
/// descriptors, and where the kernel refuses). Loop thread only, except where a member says otherwise; owned by its listener.
/// </summary>
internal sealed class Acceptor : LoopItem
{
    private const int StartRequest = 1;
    private const int ReconsiderRequest = 2;
    private const int StopRequest = 4;

    /// <summary>More than any limit, so it is looked how many there are before the next accept.</summary>
    private const int UnknownDescriptors = int.MaxValue;

    private static readonly TimeSpan s_pauseAfterError = TimeSpan.FromMilliseconds(100);

    /// <summary>Any descriptor of the process may be closed meanwhile, so it is looked whether one was.</summary>
    private static readonly TimeSpan s_pauseForDescriptors = TimeSpan.FromMilliseconds(20);

    /// <summary>A warning that lasts is said once in a minute.</summary>
    private static readonly long s_warnAgainAfter = 60 * Stopwatch.Frequency;

    private readonly EventLoop _loop;
    private readonly Socket _listenSocket;
    private readonly int _descriptor;
    private readonly Action<int> _accepted;
    private readonly Func<bool> _isFull;
    private readonly Action<Exception> _failed;
    private readonly bool _isOneByOne;
    private readonly DescriptorReserve _descriptors;
    private readonly int _backlog;
    private readonly ILogger _logger;
    private readonly KernelOperations _operations;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private AcceptState _state;
    private bool _isMultishot;

    /// <summary>How many descriptors were in use when that was last known.</summary>
    private int _descriptorsInUse = UnknownDescriptors;

    private long? _warnedAt;
    private bool _stopping;

    /// <param name="loop">Where accepting runs.</param>
    /// <param name="listenSocket">The listening socket; stays open until <see cref="StopAsync"/> has ended.</param>
    /// <param name="accepted">Takes a connected descriptor; loop thread.</param>
    /// <param name="isFull">
    /// Whether to accept no more. Whatever makes it false, <see cref="Reconsider"/> is called after that. Loop thread.
    /// </param>
    /// <param name="isOneByOne">
    /// Whether to accept one connection in each turn of the loop, and not all that wait: a crowd that has gathered while there was no room is
    /// then let in as fast as those before it are served.
    /// </param>
    /// <param name="descriptors">What accepting has to leave.</param>
    /// <param name="backlog">The length of the socket's listen queue.</param>
    /// <param name="failed">Told that nothing will be accepted any more, and why; once at most, any thread.</param>
    /// <param name="logger">Gets the errors.</param>
    internal Acceptor(
        EventLoop loop,
        Socket listenSocket,
        Action<int> accepted,
        Func<bool> isFull,
        bool isOneByOne,
        DescriptorReserve descriptors,
        int backlog,
        Action<Exception> failed,
        ILogger logger)
    {
        _loop = loop;
        _listenSocket = listenSocket;
        _descriptor = (int)listenSocket.Handle;
        _accepted = accepted;
        _isFull = isFull;
        _isOneByOne = isOneByOne;
        _descriptors = descriptors;
        _backlog = backlog;
        _failed = failed;
        _logger = logger;
        _operations = new KernelOperations(loop, this);
    }

    /// <summary>Begins to accept. Any thread.</summary>
    internal void Start()
    {
        _descriptors.Add(_backlog);
        _loop.Request(this, StartRequest);
    }

    /// <summary>There may be room for connections again, or none any more. Any thread.</summary>
    internal void Reconsider() => _loop.Request(this, ReconsiderRequest);

    /// <summary>Ends accepting; the task ends when the kernel does not use the listening socket any more. Any thread.</summary>
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
            PauseOrResume();
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

        // It was for one, or the kernel ended the multishot accept: by our cancellation, for want of room for completions, or with an error.
        if (completion.Result >= 0 || completion.Error is Errno.ECANCELED or Errno.ECONNABORTED or Errno.EINTR)
        {
            AcceptUnlessFull();
        }
        else
        {
            WaitAfter(completion.Error);
        }
    }

    private void PauseOrResume()
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

    /// <summary>
    /// What the kernel accepts before it hears of this is served. Near the limit of descriptors it accepts all that wait no more, but one after
    /// the other.
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
    /// Whoever makes room says so after that. If it was made before this looked, this sees it; if it is made later, the request to
    /// reconsider comes later too, to this thread, and finds the state Full. A request that comes while the cancellation is on its way may
    /// do nothing: this looks again when that has ended. Of several reasons each is told of when it goes, so the last one finds no other.
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
            // Somebody who shares the socket made it non-blocking.
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
            WarnOfDescriptors();
        }

        Wait(s_pauseForDescriptors);
    }

    private void WarnOfDescriptors()
    {
        long now = Stopwatch.GetTimestamp();
        if (_warnedAt is null || now - _warnedAt >= s_warnAgainAfter)
        {
            _warnedAt = now;
            IoUringLog.DescriptorsShort(_logger, Name, _descriptors.PauseAt, _descriptors.Limit, _descriptors.Reserve);
        }
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
