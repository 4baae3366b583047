using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Pipes;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>Sending: one send in flight, gathered from everything that was flushed by then.</content>
internal sealed partial class IoUringConnection
{
    /// <summary>What the send in flight names, or what is left of it after a short one. The kernel's until the completion.</summary>
    private SendSegment? _sending;

    private bool _sendInFlight;

    /// <summary>The kernel refused a send, and the loop's pause is not over.</summary>
    private bool _sendWaits;

    /// <summary>Whether a cancellation that failed has to be tried again.</summary>
    private bool MustCancelSend => _sendInFlight && _closeState == CloseState.Resetting;

    /// <inheritdoc cref="ILendingFeature.TryLend"/>
    internal bool TryLend(PipeWriter writer, ReadOnlyMemory<byte> memory)
    {
        try
        {
            _writer.Offer(memory);
            if (!LendingOffer.IsRange(writer.GetMemory(memory.Length), memory.Length))
            {
                return false;
            }

            writer.Advance(memory.Length);
            return true;
        }
        finally
        {
            _writer.WithdrawOffer();
        }
    }

    private void ContinueSend()
    {
        if (_sendInFlight || _sendWaits)
        {
            return;
        }

        _sending ??= _writer.TakeForSend(SubmissionQueue.MaxGatherSegments);
        if (_sending is not null)
        {
            Send(_sending);
        }
        else if (_outputCompleted)
        {
            Finish();
        }
    }

    private void Send(SendSegment first)
    {
        if (first.Next is null)
        {
            _loop.Submissions.PrepareSend(_socket, first.Unsent, NameOf(OperationKind.Send));
        }
        else
        {
            int count = 0;
            for (SendSegment? segment = first; segment is not null; segment = segment.Next)
            {
                _loop.GatherList[count++] = segment.Unsent;
            }

            Span<ReadOnlyMemory<byte>> list = _loop.GatherList.AsSpan(0, count);
            _loop.Submissions.PrepareSendGather(_socket, list, NameOf(OperationKind.Send));
            list.Clear(); // Lent memory must not be held longer than it is lent.
        }

        _operationCount++;
        _sendInFlight = true;
    }

    private void OnSent(in Completion completion)
    {
        _sendInFlight = false;
        if (_closeState != CloseState.Open)
        {
            ReleaseSending();
            return;
        }

        if (completion.Result >= 0)
        {
            DropSent(completion.Result);
            _writer.OnSent(completion.Result);
        }
        else if (completion.Error is Errno.EAGAIN or Errno.ENOMEM or Errno.ENOBUFS)
        {
            _sendWaits = true;
            PauseAfter(completion.Error);
            return;
        }
        else if (completion.Error is not (Errno.ECANCELED or Errno.EINTR))
        {
            Reset(ErrorOf("Sending", completion.Error));
            return;
        }

        // Whatever is left, or was flushed meanwhile, goes out with the turn's other sends.
        if (_sending is not null || _outputCompleted || _writer.HasQueued)
        {
            RequestSend();
        }
    }

    private void DropSent(int bytes)
    {
        while (_sending is not null && _sending.Length <= bytes)
        {
            SendSegment sent = _sending;
            bytes -= sent.Length;
            _sending = sent.Next;
            _loop.SendSegments.Return(sent);
        }

        _sending?.Sent(bytes);
    }

    private void ReleaseSending()
    {
        _writer.Release(_sending);
        _sending = null;
    }

    /// <summary>What the kernel has of a send comes back with its completion, and the rest at once.</summary>
    private void CancelSend()
    {
        if (_sendInFlight)
        {
            Cancel(OperationKind.Send);
        }
        else
        {
            ReleaseSending();
        }
    }
}
