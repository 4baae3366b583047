using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Receives for one connection: arms, pauses and ends its receives, as drawn at <see cref="ReceiveState"/>, and passes
/// what they bring to the reader. Loop thread only; owned by its connection.
/// <para>
/// A buffer belongs to the kernel until a completion names it, also while the receive is being cancelled. From then on
/// it belongs to the reader, which releases it when the application has advanced past it or has completed the reader.
/// So an abort takes no buffer away from an application that still reads it; what arrives after the end is released
/// here.
/// </para>
/// </summary>
internal sealed class Receiver(
    EventLoop loop, int socket, KernelOperations operations, ConnectionReader reader, ConnectionLifetime lifetime, ILogger logger)
{
    private ReceiveState _state;
    private ReceiveFlow _flow;

    /// <summary>What the receive in the kernel fills, and its completions name.</summary>
    private ReceiveBuffers _armedBuffers = null!;

    /// <summary>The reader asked for a pause and has not asked for more since.</summary>
    private bool _isReaderFull;

    /// <summary>Whether the peer has reset the connection, so that sending is of no use.</summary>
    internal bool IsPeerGone { get; private set; }

    /// <summary>Arms the first receive, or the next one after a pause. Does nothing otherwise.</summary>
    /// <param name="isReaderReady">Whether the reader has asked for more.</param>
    internal void Continue(bool isReaderReady)
    {
        if (isReaderReady && _isReaderFull)
        {
            _isReaderFull = false;
            IoUringLog.ConnectionResume(logger, lifetime.IdFor(logger));
        }

        if (_state is ReceiveState.Idle or ReceiveState.Paused)
        {
            ArmOrPause();
        }
    }

    /// <summary>Ends the wait for buffers.</summary>
    internal void OnBuffersAvailable()
    {
        if (_state == ReceiveState.Starved)
        {
            ArmOrPause();
        }
    }

    /// <summary>Ends the wait after a refusal.</summary>
    internal void OnPauseEnded()
    {
        if (_state == ReceiveState.Waiting)
        {
            ArmOrPause();
        }
    }

    /// <inheritdoc cref="LoopItem.TryRearm"/>
    internal bool TryRearm(int threadIndex)
    {
        if (_state != ReceiveState.Armed || (operations.IsSubmittedBy(threadIndex) && !SocketDescriptor.IsAtUrgentData(socket)))
        {
            return false;
        }

        operations.Rearm(OperationKind.Receive);
        return true;
    }

    internal void OnCompletion(in Completion completion)
    {
        if (completion.HasBuffer)
        {
            OnData(_armedBuffers.Acquire(completion.BufferId, Math.Max(0, completion.Result)));
        }

        if (completion.HasMore || _state == ReceiveState.Ended)
        {
            return;
        }

        // The kernel ended the receive. Neither data nor a cancellation is an end of the stream: the receive was
        // cancelled for a pause, for larger buffers or for another thread.
        switch (completion.Error)
        {
            case Errno.None when completion.Result == 0:
                IoUringLog.ConnectionReadFin(logger, lifetime.IdFor(logger));
                End(null);
                break;
            case Errno.None or Errno.ECANCELED or Errno.EINTR:
                ArmOrPause();
                break;
            case Errno.ENOBUFS when _armedBuffers == loop.LargeReceiveBuffers:
                _flow.End();
                ArmOrPause();
                break;
            case Errno.ENOBUFS when _armedBuffers.TryProvideOne():
                ArmOrPause();
                break;
            case Errno.ENOBUFS:
                _state = ReceiveState.Starved;
                loop.AwaitBuffers(operations.Item);
                break;
            case Errno.EAGAIN or Errno.ENOMEM:
                _state = ReceiveState.Waiting;
                operations.PauseAfter(completion.Error, socket);
                break;
            default:
                IsPeerGone = completion.Error == Errno.ECONNRESET;
                End(lifetime.LogFailure(logger, "Receiving", completion.Error));
                break;
        }
    }

    /// <summary>Cancels the receive and ends reading. Data that still comes is dropped.</summary>
    internal void Stop(Exception? reason)
    {
        CancelReceive();
        End(reason);
    }

    /// <summary>Ends reading; the first reason counts. The operation in the kernel, if any, is not touched.</summary>
    internal void End(Exception? reason)
    {
        if (_state == ReceiveState.Ended)
        {
            return;
        }

        // An application that aborts reads its own reason from then on, even if the loop sees the client's end before
        // it sees the abort.
        _state = ReceiveState.Ended;
        reader.End(lifetime.AbortReason ?? reason);
        lifetime.FireConnectionClosed();
    }

    private void ArmOrPause()
    {
        if (_state != ReceiveState.Idle && reader.IsCompleted)
        {
            // What comes now is left to the kernel, which therefore resets the connection at its close: a client that
            // waits until it can send hears of it.
            End(null);
            return;
        }

        if (_isReaderFull)
        {
            _state = ReceiveState.Paused;
            return;
        }

        if (_flow.IsBody && loop.LargeReceiveBuffers.IsScarce)
        {
            _flow.End(); // A copy out of a large buffer would cost more than it saves.
        }

        UserData name = operations.BeginRearmable(OperationKind.Receive);
        if (_flow.IsBody)
        {
            // Not multishot: the next one is armed when the application had its turn, and takes all that has come by
            // then.
            _armedBuffers = loop.LargeReceiveBuffers;
            loop.Submissions.PrepareReceive(socket, _armedBuffers.Group, name);
        }
        else
        {
            _armedBuffers = loop.ReceiveBuffers;
            loop.Submissions.PrepareReceiveMultishot(socket, _armedBuffers.Group, name);
        }

        _state = ReceiveState.Armed;
    }

    private void OnData(ReceivedSegment segment)
    {
        int length = segment.Memory.Length;
        if (_state == ReceiveState.Ended || length == 0)
        {
            segment.Release();
            return;
        }

        switch (reader.Append(segment))
        {
            case ReceiveDemand.Pause when !_isReaderFull:
                _isReaderFull = true;
                IoUringLog.ConnectionPause(logger, lifetime.IdFor(logger));
                CancelReceive();
                break;
            case ReceiveDemand.None:
                Stop(null);
                break;
            default:
                break;
        }

        if (_flow.OnReceived(length, _armedBuffers.BufferSize) && _state == ReceiveState.Armed && operations.Contains(OperationKind.Receive))
        {
            operations.Rearm(OperationKind.Receive); // As a large one.
        }
    }

    private void CancelReceive()
    {
        if (_state == ReceiveState.Armed)
        {
            operations.Cancel(OperationKind.Receive);
            _state = ReceiveState.Stopping;
        }
    }
}
