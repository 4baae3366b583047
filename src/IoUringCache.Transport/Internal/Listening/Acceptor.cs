using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// The accepting of one listening socket: a multishot accept on one loop, or one connection a turn, with back-pressure (it stops while the
/// application leaves too many connections untaken, or all loops have too much to do) and patience (it waits where the process is out of
/// descriptors). Loop thread only, except where a member says otherwise; owned by its listener.
/// </summary>
internal sealed class Acceptor : LoopItem
{
    private const int StartRequest = 1;
    private const int ReconsiderRequest = 2;
    private const int StopRequest = 4;

    private static readonly TimeSpan s_pauseAfterError = TimeSpan.FromMilliseconds(100);

    private readonly EventLoop _loop;
    private readonly Socket _listenSocket;
    private readonly int _descriptor;
    private readonly Action<int> _accepted;
    private readonly Func<bool> _isFull;
    private readonly Action<Exception> _failed;
    private readonly bool _isOneByOne;
    private readonly ILogger _logger;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private AcceptState _state;
    private bool _acceptInFlight;
    private int _operationCount;
    private bool _stopping;
    private int _armedByThread;

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
    /// <param name="failed">Told that nothing will be accepted any more, and why; once at most, any thread.</param>
    /// <param name="logger">Gets the errors.</param>
    internal Acceptor(
        EventLoop loop,
        Socket listenSocket,
        Action<int> accepted,
        Func<bool> isFull,
        bool isOneByOne,
        Action<Exception> failed,
        ILogger logger)
    {
        _loop = loop;
        _listenSocket = listenSocket;
        _descriptor = (int)listenSocket.Handle;
        _accepted = accepted;
        _isFull = isFull;
        _isOneByOne = isOneByOne;
        _failed = failed;
        _logger = logger;
    }

    /// <summary>Begins to accept. Any thread.</summary>
    internal void Start() => _loop.Request(this, StartRequest);

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
            Accept();
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
        if (!completion.HasMore)
        {
            _operationCount--;
        }

        switch ((OperationKind)completion.UserData.Kind)
        {
            case OperationKind.Accept:
                OnAccepted(completion);
                break;
            case OperationKind.Timer when _state == AcceptState.Waiting && !_stopping:
                AcceptUnlessFull();
                break;
            case OperationKind.Cancel when completion.IsError && MustCancelAccept:
                _loop.Pause(this);
                break;
            default:
                break;
        }

        StopIfIdle();
    }

    /// <summary>A cancellation failed; nobody would ever hear the end of an accept that is left in the kernel.</summary>
    internal override void OnPauseEnded()
    {
        if (MustCancelAccept)
        {
            Cancel(OperationKind.Accept);
        }
    }

    /// <summary>The cancelled accept ends as one that nobody asked to end: it is armed again.</summary>
    internal override bool TryRearm(int threadIndex)
    {
        if (_state != AcceptState.Accepting || _armedByThread == threadIndex || _stopping)
        {
            return false;
        }

        _armedByThread = threadIndex;
        Cancel(OperationKind.Accept);
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
        _failed(reason);
        _stopped.SetResult();
    }

    private bool MustCancelAccept => _acceptInFlight && (_stopping || _state == AcceptState.Cancelling);

    private void Accept()
    {
        if (_isOneByOne)
        {
            _loop.Submissions.PrepareAccept(_descriptor, NameOf(OperationKind.Accept));
        }
        else
        {
            _loop.Submissions.PrepareAcceptMultishot(_descriptor, NameOf(OperationKind.Accept));
        }

        _operationCount++;
        _acceptInFlight = true;
        _armedByThread = _loop.ThreadIndex;
        _state = AcceptState.Accepting;
    }

    private void OnAccepted(in Completion completion)
    {
        _acceptInFlight = completion.HasMore;
        if (completion.Result >= 0)
        {
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

    /// <summary>What the kernel accepts before it hears of this is served.</summary>
    private void PauseIfFull()
    {
        if (_acceptInFlight && _state == AcceptState.Accepting && _isFull())
        {
            Cancel(OperationKind.Accept);
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
        if (!_isFull())
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
        IoUringLog.AcceptPaused(_logger, _listenSocket.LocalEndPoint?.ToString() ?? "?", errno.ToString(), s_pauseAfterError);
        _loop.Submissions.PrepareTimeout(s_pauseAfterError, NameOf(OperationKind.Timer));
        _operationCount++;
        _state = AcceptState.Waiting;
    }

    private void Stop()
    {
        if (_stopping)
        {
            return;
        }

        _stopping = true;
        if (_state == AcceptState.Accepting)
        {
            Cancel(OperationKind.Accept);
        }
        else if (_state == AcceptState.Waiting)
        {
            Cancel(OperationKind.Timer);
        }

        StopIfIdle();
    }

    private void StopIfIdle()
    {
        if (_stopping && _operationCount == 0 && _state != AcceptState.Stopped)
        {
            _state = AcceptState.Stopped;
            _loop.Remove(this);
            _stopped.SetResult();
        }
    }

    private void Cancel(OperationKind kind)
    {
        _loop.Submissions.PrepareCancel(NameOf(kind), NameOf(OperationKind.Cancel));
        _operationCount++;
    }
}
