using System.Runtime.InteropServices;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>The loop's sends of one connection, one at a time. Loop thread only; owned by its connection.</summary>
internal sealed class Sender(IoUringConnection connection, KernelOperations operations, EventLoop loop, int socket, SendQueue queue)
{
    /// <summary>The most bytes of a file sent at once, while other connections wait.</summary>
    private const int MaxFilePieceBytes = 2 * 1024 * 1024;

    /// <summary>Sends what is queued, unless a send is under way. The connection is open.</summary>
    internal void Continue()
    {
        if (queue.State > SendState.Taken)
        {
            return;
        }

        if (queue.DirectError is var error and not default(Errno))
        {
            OnFailed(error);
            return;
        }

        if (!queue.TryTake())
        {
            return;
        }

        if (queue.LoopSegments is not { } first)
        {
            FinishIfLast();
        }
        else if (connection.IsPeerGone)
        {
            OnFailed(Errno.ECONNRESET); // As the kernel would say, without a submission.
        }
        else if (first.File is { } file)
        {
            SendFile(first, file);
        }
        else if (connection.IsOutputCompleted && TrySendLast(first))
        {
            FinishIfLast();
        }
        else
        {
            Submit(queue.LoopSegments); // What TrySendLast has sent is the pool's again.
        }
    }

    internal void OnCompletion(in Completion completion)
    {
        queue.MoveTo(SendState.Taken);
        if (!connection.IsOpen)
        {
            queue.ReleaseLoopSegments();
        }
        else if (completion.Result < 0)
        {
            OnFailed(completion.Error);
        }
        else
        {
            // A poll has nothing to count. If it ended because the socket failed, the next piece of the file reports that.
            if (completion.UserData.Kind == (byte)OperationKind.Send)
            {
                queue.OnSent(completion.Result);
            }

            RequestRest();
        }
    }

    /// <summary>Retries after the loop's pause. The connection is open.</summary>
    internal void OnPauseEnded()
    {
        if (queue.State == SendState.Waiting)
        {
            queue.MoveTo(SendState.Taken);
            Continue();
        }
    }

    /// <summary>Releases the segments after the close, now or when the cancelled operation completes.</summary>
    internal void Cancel()
    {
        if (queue.State is SendState.InKernel or SendState.AwaitingWritable)
        {
            operations.Cancel(queue.State == SendState.InKernel ? OperationKind.Send : OperationKind.PollWritable);
        }
        else
        {
            queue.ReleaseLoopSegments();
        }
    }

    /// <summary>
    /// Sends what fits into the socket by sendfile(2), or of a splice pipe by splice(2); the rest follows after other
    /// connections' turn.
    /// </summary>
    private void SendFile(SendSegment range, SafeHandle file)
    {
        int count = Math.Min(range.Length, MaxFilePieceBytes);
        int result = file is KernelPipe pipe ? pipe.Send(socket, count) : SocketDescriptor.SendFile(socket, (SafeFileHandle)file, range.FileOffset, count);
        if (result > 0)
        {
            queue.OnSent(result);
            if (!queue.TryTake())
            {
                return;
            }

            if (queue.LoopSegments?.File is null)
            {
                Continue();
                return;
            }
        }
        else if (result == 0)
        {
            connection.ResetAfter(new IOException("A file that was being sent has become shorter than the range that was to be sent of it."));
            return;
        }
        else if ((Errno)(-result) is not (Errno.EAGAIN or Errno.EINTR))
        {
            OnFailed((Errno)(-result));
            return;
        }

        loop.Submissions.PreparePollWritable(socket, operations.Begin(OperationKind.PollWritable));
        queue.MoveTo(SendState.AwaitingWritable);
    }

    /// <summary>Sends the last bytes at once, so that they share a TCP segment with the FIN.</summary>
    /// <returns>False if bytes are left; true also after an error that ended the connection.</returns>
    private bool TrySendLast(SendSegment first)
    {
        if (queue.HasQueued)
        {
            return false;
        }

        int result = queue.SendNow(first, finFollows: true);
        if (SendQueue.IsFinal(result))
        {
            OnFailed((Errno)(-result));
            return true;
        }

        if (result > 0)
        {
            queue.OnSent(result);
        }

        return queue.LoopSegments is null;
    }

    private void FinishIfLast()
    {
        if (connection.IsOutputCompleted)
        {
            connection.Finish();
        }
    }

    private void Submit(SendSegment first)
    {
        UserData name = operations.Begin(OperationKind.Send);
        if (first.Next is null)
        {
            loop.Submissions.PrepareSend(socket, first.Unsent, name, queue.IsFileNext);
        }
        else
        {
            Span<ReadOnlyMemory<byte>> list = GatherList.Of(first);
            loop.Submissions.PrepareSendGather(socket, list, name, queue.IsFileNext);
            list.Clear();
        }

        queue.MoveTo(SendState.InKernel);
    }

    private void OnFailed(Errno error)
    {
        switch (error)
        {
            case Errno.ECANCELED or Errno.EINTR:
                RequestRest();
                break;
            case Errno.EAGAIN or Errno.ENOMEM or Errno.ENOBUFS:
                queue.MoveTo(SendState.Waiting);
                operations.PauseAfter(error, socket);
                break;
            default:
                connection.ResetAfter(error);
                break;
        }
    }

    /// <summary>Sends the rest, or later flushes, with the other sends of the turn.</summary>
    private void RequestRest()
    {
        if (queue.LoopSegments is not null || connection.IsOutputCompleted || queue.HasQueued)
        {
            connection.RequestSend();
        }
    }
}
