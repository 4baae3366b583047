using System.Buffers;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A connection's receives, as drawn at <see cref="ReceiveState"/>. Loop thread only; owned by its connection.
/// </summary>
/// <remarks>
/// A buffer belongs to the kernel until a completion names it, also during a cancellation, then to the reader until the
/// application advances past it or completes the reader. Data that arrives after the end is released here.
/// </remarks>
internal sealed class Receiver(
    EventLoop loop, int socket, KernelOperations operations, ConnectionReader reader, ConnectionLifetime lifetime, ILogger logger)
{
    private ReceiveState _state;
    private ReceiveFlow _flow;

    /// <summary>The group that the receive in the kernel fills, unless that is <see cref="_lent"/>.</summary>
    private ReceiveBuffers _armedBuffers = null!;

    /// <summary>The application's memory or pipe that is filled or will be; none if it is a group's turn.</summary>
    private ReceiveTarget _lent;

    /// <summary>Holds lent memory while a receive into it is in the kernel.</summary>
    private MemoryHandle _pin;
    private bool _isLentArmed;

    /// <summary>Whether the armed receive is being cancelled so that one for the application's target follows.</summary>
    private bool _isSwitching;

    /// <summary>Whether the reader asked for a pause and not yet for more.</summary>
    private bool _isReaderFull;

    /// <summary>Whether the peer has reset the connection, so that no send can succeed.</summary>
    internal bool IsPeerGone { get; private set; }

    /// <summary>Arms the first receive, or the next one after a pause.</summary>
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
        else if (isReaderReady && _state == ReceiveState.Armed)
        {
            Reconsider();
        }
    }

    internal void OnBuffersAvailable()
    {
        if (_state == ReceiveState.Starved)
        {
            ArmOrPause();
        }
    }

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

        int result = _isLentArmed ? OnLentCompletion(completion) : completion.Result;
        if (completion.HasMore)
        {
            return;
        }

        _isSwitching = false;
        if (_state == ReceiveState.Ended)
        {
            return;
        }

        // Data and cancellations (for a pause, larger buffers or another thread) do not end the stream.
        Errno error = (Errno)Math.Max(0, -result);
        switch (error)
        {
            case Errno.None when result == 0:
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
                operations.PauseAfter(error, socket);
                break;
            default:
                IsPeerGone = error == Errno.ECONNRESET;
                End(lifetime.LogFailure(logger, "Receiving", error));
                break;
        }
    }

    /// <summary>Cancels the receive and ends reading. Data that still arrives is dropped.</summary>
    internal void Stop(Exception? reason)
    {
        CancelReceive();
        End(reason);
    }

    /// <summary>
    /// No completion comes any more: the ring is broken. Lent memory stays pinned, because the loop could perhaps not
    /// make the kernel let go of it (<see cref="KernelRing.TryCancelAll"/>).
    /// </summary>
    internal void OnLoopFailed(Exception reason)
    {
        _isLentArmed = false;
        End(reason);
    }

    /// <summary>Ends reading; the first reason counts. The operation in the kernel goes on.</summary>
    internal void End(Exception? reason)
    {
        if (_state == ReceiveState.Ended)
        {
            return;
        }

        // The application's own reason wins, even if the loop sees the client's end before the abort.
        _state = ReceiveState.Ended;
        if (!_isLentArmed && !_lent.IsNone)
        {
            GiveBack(0);
        }

        reader.End(lifetime.AbortReason ?? reason);
        lifetime.FireConnectionClosed();
    }

    /// <summary>While a receive is armed: the application may want its memory back, or begin to read a body directly.</summary>
    private void Reconsider()
    {
        if (_isLentArmed)
        {
            if (reader.WantsTargetBack())
            {
                operations.Cancel(OperationKind.Receive);
            }
        }
        else if (!_isSwitching && reader.ExpectsBody())
        {
            // What comes meanwhile ends the read, and then nothing is lent.
            _isSwitching = true;
            operations.Rearm(OperationKind.Receive);
        }
    }

    /// <summary>
    /// The receive into the application's memory, or the poll for its pipe, has ended. The target is the application's
    /// again, unless it is only armed anew: by another thread, or after a pause.
    /// </summary>
    /// <returns>Bytes received, 0 at the end of the stream, or -errno.</returns>
    private int OnLentCompletion(in Completion completion)
    {
        _pin.Dispose();
        _isLentArmed = false;
        int result = completion.Result;
        if (result > 0 && _lent.Pipe is { } pipe)
        {
            result = IsLoanOver ? -(int)Errno.ECANCELED : pipe.Receive(socket, _lent.Length);
            if ((Errno)(-result) is Errno.EAGAIN or Errno.EBADF or Errno.EINVAL or Errno.EPERM or Errno.ENOSYS)
            {
                GiveBack(0, isRefused: true);
                return -(int)Errno.ECANCELED;
            }
        }

        bool isTriedAgain = (Errno)(-result) is Errno.ECANCELED or Errno.EINTR or Errno.EAGAIN or Errno.ENOMEM && !IsLoanOver;
        if (!isTriedAgain)
        {
            GiveBack(Math.Max(0, result));
        }

        return result;
    }

    private bool IsLoanOver => _state != ReceiveState.Armed || reader.WantsTargetBack();

    private void GiveBack(int length, bool isRefused = false)
    {
        ReceiveTarget lent = _lent;
        _lent = default;
        reader.GiveBack(lent, length, isRefused);
    }

    private void ArmOrPause()
    {
        if (_state != ReceiveState.Idle && reader.IsCompleted)
        {
            // Unread data makes the close send a reset, which tells a client that waits to send.
            End(null);
            return;
        }

        if (!_lent.IsNone && reader.WantsTargetBack())
        {
            GiveBack(0);
        }

        bool isDirect = !_lent.IsNone || reader.TakesDirectly(out _lent);
        if (_isReaderFull || (isDirect && _lent.IsNone))
        {
            _state = ReceiveState.Paused;
            return;
        }

        if (isDirect && TryPinLent())
        {
            ArmLent();
            return;
        }

        if (_flow.IsBulk && loop.LargeReceiveBuffers.IsScarce)
        {
            _flow.End(); // A copy out of a large buffer would cost more than it saves.
        }

        UserData name = operations.BeginRearmable(OperationKind.Receive);
        if (_flow.IsBulk)
        {
            // Not multishot: the application has its turn before the next one, which takes all that has arrived.
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

    /// <returns>False if that cannot be, as with memory whose owner was disposed of: it is given back.</returns>
    private bool TryPinLent()
    {
        try
        {
            _pin = _lent.Memory.Pin();
            return true;
        }
        catch (Exception)
        {
            // Code of the application's, whose fault is its connection's alone.
            GiveBack(0, isRefused: true);
            return false;
        }
    }

    private void ArmLent()
    {
        UserData name = operations.BeginRearmable(OperationKind.Receive);
        if (_lent.Pipe is null)
        {
            loop.Submissions.PrepareReceive(socket, _lent.Memory[.._lent.Length], name);
        }
        else
        {
            loop.Submissions.PreparePollReadable(socket, name);
        }

        _isLentArmed = true;
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
