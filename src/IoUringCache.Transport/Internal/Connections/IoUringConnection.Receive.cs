using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>
/// Receiving: one multishot receive into the loop's small buffers, or, while a body flows in, one receive after the other into its large
/// ones; none while the reader is full.
/// </content>
internal sealed partial class IoUringConnection
{
    private ReceiveState _receiveState;
    private ReceiveFlow _flow;

    /// <summary>What the receive in the kernel fills, and its completions name.</summary>
    private ReceiveBuffers _armedBuffers = null!;

    /// <summary>The peer has reset the connection: nothing that is sent would come to anybody.</summary>
    private bool _isPeerGone;

    /// <summary>The reader asked for a pause and has not yet said that it has room again.</summary>
    private bool _readerIsFull;

    internal override void OnBuffersAvailable()
    {
        if (_receiveState == ReceiveState.Starved)
        {
            ArmOrPause();
        }
    }

    internal override bool TryRearm(int threadIndex)
    {
        if (_receiveState != ReceiveState.Armed || (_operations.IsSubmittedBy(threadIndex) && !SocketDescriptor.IsAtUrgentData(_socket)))
        {
            return false;
        }

        _operations.Rearm(OperationKind.Receive);
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

        if (_flow.IsBody && _loop.LargeReceiveBuffers.IsScarce)
        {
            _flow.End(); // A copy out of a large buffer would cost more than it saves.
        }

        UserData name = _operations.BeginRearmable(OperationKind.Receive);
        if (_flow.IsBody)
        {
            // Not multishot: the next one is armed when the application had its turn, and takes all that has come by then.
            _armedBuffers = _loop.LargeReceiveBuffers;
            _loop.Submissions.PrepareReceive(_socket, _armedBuffers.Group, name);
        }
        else
        {
            _armedBuffers = _loop.ReceiveBuffers;
            _loop.Submissions.PrepareReceiveMultishot(_socket, _armedBuffers.Group, name);
        }

        _receiveState = ReceiveState.Armed;
    }

    private void OnReceived(in Completion completion)
    {
        if (completion.HasBuffer)
        {
            OnData(_armedBuffers.Lend(completion.BufferId, Math.Max(0, completion.Result)));
        }

        if (completion.HasMore || _receiveState == ReceiveState.Ended)
        {
            return;
        }

        // The kernel ended the receive. Data, a cancellation that made room for a pause or for a larger receive, or one that nobody asked
        // for: none of these is an end.
        if (completion.Result > 0 || completion.Error is Errno.ECANCELED or Errno.EINTR)
        {
            ArmOrPause();
        }
        else if (completion.Result == 0)
        {
            IoUringLog.ConnectionReadFin(_logger, _lifetime);
            EndReceive(null);
        }
        else if (completion.Error == Errno.ENOBUFS && _armedBuffers == _loop.LargeReceiveBuffers)
        {
            _flow.End();
            ArmOrPause();
        }
        else if (completion.Error == Errno.ENOBUFS && _loop.ReceiveBuffers.TryProvideOne())
        {
            ArmOrPause();
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
            _isPeerGone = completion.Error == Errno.ECONNRESET;
            EndReceive(ErrorOf("Receiving", completion.Error));
        }
    }

    private void OnData(ReceivedSegment segment)
    {
        int length = segment.Memory.Length;
        if (_receiveState == ReceiveState.Ended || length == 0)
        {
            segment.Release();
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

        if (_flow.OnReceived(length, _armedBuffers.BufferSize) && _operations.Contains(OperationKind.Receive) && _receiveState == ReceiveState.Armed)
        {
            _operations.Rearm(OperationKind.Receive); // As a large one.
        }
    }

    private void CancelReceive()
    {
        if (_receiveState == ReceiveState.Armed)
        {
            _operations.Cancel(OperationKind.Receive);
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
        _lifetime.FireConnectionClosed();
    }
}
