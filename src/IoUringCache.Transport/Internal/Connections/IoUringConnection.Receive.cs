using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Pipes;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>Receiving: one multishot receive into the loop's buffers, cancelled while the reader is full.</content>
internal sealed partial class IoUringConnection
{
    private ReceiveState _receiveState;
    private bool _receiveInFlight;
    private int _armedByThread;

    /// <summary>The reader asked for a pause and has not yet said that it has room again.</summary>
    private bool _readerIsFull;

    internal override void OnBuffersAvailable()
    {
        if (_receiveState == ReceiveState.Starved)
        {
            ArmOrPause();
        }
    }

    /// <summary>The cancelled receive ends as one that nobody asked to end: it is armed again.</summary>
    internal override bool TryRearm(int threadIndex)
    {
        if (_receiveState != ReceiveState.Armed || _armedByThread == threadIndex)
        {
            return false;
        }

        _armedByThread = threadIndex;
        Cancel(OperationKind.Receive);
        return true;
    }

    private void ContinueReceive(bool readerHasRoom)
    {
        if (readerHasRoom && _readerIsFull)
        {
            _readerIsFull = false;
            IoUringLog.ConnectionResume(_logger, _lifetime);
        }

        if (_receiveState is ReceiveState.Idle or ReceiveState.Paused)
        {
            ArmOrPause();
        }
    }

    /// <summary>Whether a cancellation that failed has to be tried again.</summary>
    private bool MustCancelReceive => _receiveInFlight && _receiveState != ReceiveState.Armed;

    private void ArmOrPause()
    {
        if (_receiveState != ReceiveState.Idle && _reader.IsCompleted)
        {
            // What comes now is left to the kernel, which resets the connection at its close because of it: a client that waits for room
            // to send hears of it.
            EndReceive(null);
            return;
        }

        if (_readerIsFull)
        {
            _receiveState = ReceiveState.Paused;
            return;
        }

        _loop.Submissions.PrepareReceiveMultishot(_socket, ReceiveBuffers.Group, NameOf(OperationKind.Receive));
        _operationCount++;
        _receiveInFlight = true;
        _armedByThread = _loop.ThreadIndex;
        _receiveState = ReceiveState.Armed;
    }

    private void OnReceived(in Completion completion)
    {
        _receiveInFlight = completion.HasMore;
        if (completion.HasBuffer)
        {
            OnData(_loop.ReceiveBuffers.Lend(completion.BufferId, Math.Max(0, completion.Result)));
        }

        if (completion.HasMore || _receiveState == ReceiveState.Ended)
        {
            return;
        }

        // The kernel ended the multishot receive. Data, a cancellation that made room for a pause, or one that nobody asked for: none of
        // these is an end.
        if (completion.Result > 0 || completion.Error is Errno.ECANCELED or Errno.EINTR)
        {
            ArmOrPause();
        }
        else if (completion.Result == 0)
        {
            IoUringLog.ConnectionReadFin(_logger, _lifetime);
            EndReceive(null);
        }
        else if (completion.Error == Errno.ENOBUFS)
        {
            _receiveState = ReceiveState.Starved;
            _loop.AwaitBuffers(this);
        }
        else if (completion.Error is Errno.EAGAIN or Errno.ENOMEM)
        {
            _receiveState = ReceiveState.Waiting;
            PauseAfter(completion.Error);
        }
        else
        {
            EndReceive(ErrorOf("Receiving", completion.Error));
        }
    }

    private void OnData(ReceivedSegment segment)
    {
        if (_receiveState == ReceiveState.Ended || segment.Memory.Length == 0)
        {
            _loop.ReceiveBuffers.Return(segment);
            return;
        }

        switch (_reader.Append(segment))
        {
            case ReceiveDemand.Pause when !_readerIsFull:
                _readerIsFull = true;
                IoUringLog.ConnectionPause(_logger, _lifetime);
                CancelReceive();
                break;
            case ReceiveDemand.None:
                CancelReceive();
                EndReceive(null);
                break;
            default:
                break;
        }
    }

    private void CancelReceive()
    {
        if (_receiveState == ReceiveState.Armed)
        {
            Cancel(OperationKind.Receive);
            _receiveState = ReceiveState.Stopping;
        }
    }

    private void EndReceive(Exception? error)
    {
        if (_receiveState == ReceiveState.Ended)
        {
            return;
        }

        // Who aborts knows from then on why reading ends, even where the loop hears of the client's own end before it hears of the abort.
        _receiveState = ReceiveState.Ended;
        _reader.End(Volatile.Read(ref _abortReason) ?? error);
        _lifetime.FireConnectionClosed(_loop);
    }
}
