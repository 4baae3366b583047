using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>
/// Sending: one send in flight, gathered from everything that was flushed by then up to a range of a file, or that range, which leaves by
/// sendfile(2) on the loop's thread as the socket has room. What is known to be the last leaves at once as well, with the FIN behind it.
/// Other threads may send too, in turns (<see cref="SendTurn"/>).
/// </content>
internal sealed partial class IoUringConnection
{
    /// <summary>The most bytes of a file that leave at once: the loop's other connections wait that long.</summary>
    private const int LargestFilePiece = 2 * 1024 * 1024;

    /// <summary>What the send in flight names, or what is left of it after a short one. The kernel's until the completion.</summary>
    private SendSegment? _sending;

    private SendState _sendState;

    /// <summary>What follows <see cref="_sending"/> is a range of a file.</summary>
    private bool _fileFollows;

    private bool IsSendInKernel => _sendState is SendState.Sending or SendState.AwaitingRoom;

    /// <summary>Whether a cancellation that failed has to be tried again.</summary>
    private bool MustCancelSend => IsSendInKernel && _closeState == CloseState.Resetting;

    /// <inheritdoc cref="IZeroCopyFeature.IsPaced"/>
    internal bool IsPaced => _settings.IsPaced;

    /// <inheritdoc cref="IZeroCopyFeature.TryWrite"/>
    internal bool TryWrite(PipeWriter writer, in ZeroCopySource loan)
    {
        try
        {
            _writer.Offer(loan);
            if (!ZeroCopyOffer.IsRange(writer.GetMemory(loan.Length), loan.Length))
            {
                return false;
            }

            writer.Advance(loan.Length);
            return true;
        }
        finally
        {
            _writer.WithdrawOffer();
        }
    }

    /// <inheritdoc cref="ConnectionWriter.FlushThroughAsync"/>
    internal ValueTask<FlushResult> FlushThroughAsync(PipeWriter writer, IFeatureCollection features, CancellationToken cancellationToken) =>
        _writer.FlushThroughAsync(writer, features, cancellationToken);

    private void ContinueSend()
    {
        if (_sendState != SendState.Idle)
        {
            return;
        }

        if (_writer.DirectError is var error and not default(Errno))
        {
            OnSendFailed(error);
            return;
        }

        if (_sending is null && !_writer.TryTakeForSend(SubmissionQueue.MaxGatherSegments, out _sending, out _fileFollows))
        {
            return; // Another thread is sending, and asks again.
        }

        if (_sending is not null && _isPeerGone)
        {
            // What the kernel would say, without a submission for somebody who has left.
            OnSendFailed(Errno.ECONNRESET);
        }
        else if (_sending is { File: { } file })
        {
            SendFile(_sending, file);
        }
        else if (_sending is not null && !(_outputCompleted && TrySendLast(_sending)))
        {
            Send(_sending);
        }
        else if (_outputCompleted)
        {
            Finish();
        }
    }

    /// <summary>
    /// Sends as much of a range as there is room for. For the rest, and for the next range, it is the turn of the loop's other connections
    /// first, room or not.
    /// </summary>
    private void SendFile(SendSegment range, SafeFileHandle file)
    {
        int result = SocketDescriptor.SendFile(_socket, file, range.FileOffset, Math.Min(range.Length, LargestFilePiece));
        if (result > 0)
        {
            _sending = _writer.OnSent(range, result);
            if (_sending is null && !_writer.TryTakeForSend(SubmissionQueue.MaxGatherSegments, out _sending, out _fileFollows))
            {
                return; // As above.
            }

            if (_sending?.File is null)
            {
                ContinueSend();
                return;
            }
        }
        else if (result == 0)
        {
            IOException error = new("A file that was being sent has become shorter than the range that was to be sent of it.");
            IoUringLog.ConnectionError(_logger, _lifetime, error);
            Reset(error);
            return;
        }
        else if ((Errno)(-result) is not (Errno.EAGAIN or Errno.EINTR))
        {
            OnSendFailed((Errno)(-result));
            return;
        }

        _loop.Submissions.PreparePollWritable(_socket, NameOf(OperationKind.Room));
        _operationCount++;
        _sendState = SendState.AwaitingRoom;
    }

    /// <summary>
    /// The last bytes of all leave at once, so that the kernel can hold them until <see cref="Finish"/>, which comes next, has it send the
    /// FIN with them: a segment less for both sides. False if there is something left to send; true also after an error that has ended the
    /// connection, which then is not open for a FIN any more.
    /// </summary>
    private bool TrySendLast(SendSegment first)
    {
        if (_fileFollows || _writer.HasQueued)
        {
            return false;
        }

        Span<ReadOnlyMemory<byte>> list = Gather(first);
        int sent = _loop.SendNow(_socket, list, moreFollows: true);
        list.Clear();
        if (ConnectionWriter.IsFinal(sent))
        {
            OnSendFailed((Errno)(-sent));
            return true;
        }

        if (sent > 0)
        {
            _sending = _writer.OnSent(first, sent);
        }

        return _sending is null;
    }

    private void Send(SendSegment first)
    {
        if (first.Next is null)
        {
            _loop.Submissions.PrepareSend(_socket, first.Unsent, NameOf(OperationKind.Send), _fileFollows);
        }
        else
        {
            Span<ReadOnlyMemory<byte>> list = Gather(first);
            _loop.Submissions.PrepareSendGather(_socket, list, NameOf(OperationKind.Send), _fileFollows);
            list.Clear();
        }

        _operationCount++;
        _sendState = SendState.Sending;
    }

    /// <summary>The loop's list of what a send names. To be cleared after it: lent memory must not be held longer than it is lent.</summary>
    private Span<ReadOnlyMemory<byte>> Gather(SendSegment first)
    {
        int count = 0;
        for (SendSegment? segment = first; segment is not null; segment = segment.Next)
        {
            _loop.GatherList[count++] = segment.Unsent;
        }

        return _loop.GatherList.AsSpan(0, count);
    }

    private void OnSent(in Completion completion)
    {
        _sendState = SendState.Idle;
        if (_closeState != CloseState.Open)
        {
            ReleaseSending();
        }
        else if (completion.Result >= 0)
        {
            _sending = _writer.OnSent(_sending, completion.Result);
            RequestRest();
        }
        else
        {
            OnSendFailed(completion.Error);
        }
    }

    private void OnRoom(in Completion completion)
    {
        _sendState = SendState.Idle;
        if (_closeState != CloseState.Open)
        {
            ReleaseSending();
        }
        else if (completion.Result >= 0)
        {
            RequestSend(); // A socket that has failed says so to the next piece.
        }
        else
        {
            OnSendFailed(completion.Error);
        }
    }

    private void OnSendFailed(Errno error)
    {
        switch (error)
        {
            case Errno.ECANCELED or Errno.EINTR:
                RequestRest();
                break;
            case Errno.EAGAIN or Errno.ENOMEM or Errno.ENOBUFS:
                _sendState = SendState.Paused;
                PauseAfter(error);
                break;
            default:
                Reset(ErrorOf("Sending", error));
                break;
        }
    }

    private void ResumeSend()
    {
        if (_sendState == SendState.Paused)
        {
            _sendState = SendState.Idle;
            ContinueSend();
        }
    }

    /// <summary>Whatever is left, or was flushed meanwhile, goes out with the turn's other sends.</summary>
    private void RequestRest()
    {
        if (_sending is not null || _outputCompleted || _writer.HasQueued)
        {
            RequestSend();
        }
    }

    private void ReleaseSending()
    {
        _writer.Release(_sending);
        _sending = null;
    }

    /// <summary>What the kernel has of a send comes back with its completion, and the rest at once.</summary>
    private void CancelSend()
    {
        switch (_sendState)
        {
            case SendState.Sending:
                Cancel(OperationKind.Send);
                break;
            case SendState.AwaitingRoom:
                Cancel(OperationKind.Room);
                break;
            default:
                ReleaseSending();
                break;
        }
    }
}
