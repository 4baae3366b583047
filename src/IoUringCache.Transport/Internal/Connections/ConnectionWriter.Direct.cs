using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;

namespace IoUringCache.Transport.Internal.Connections;

/// <content>
/// Sending by another thread than the loop's: one whose flush would have to wait for room, or one of the thread pool
/// (<see cref="Loops.FlushQueue"/>). The send itself does not wait. Whose turn it is says <see cref="SendTurn"/>; what does not leave at once is the
/// loop's.
/// </content>
internal sealed partial class ConnectionWriter
{
    /// <summary>Scratch for one send.</summary>
    [ThreadStatic]
    private static ReadOnlyMemory<byte>[]? s_gatherList;

    private readonly int _socket;

    private SendTurn _turn;

    private int _directError;

    /// <summary>What a send by another thread failed with for good, for which the connection is asked to send; 0 if none did.</summary>
    internal Errno DirectError => (Errno)Volatile.Read(ref _directError);

    private bool IsDirect => _turn is SendTurn.Direct or SendTurn.Awaited;

    /// <summary>
    /// Whether no other thread is in a send; if one is, it asks the connection to send when it comes out. After <see cref="Fail"/> none
    /// begins another, so true stays true. Loop thread.
    /// </summary>
    internal bool TryAwaitDirect()
    {
        lock (_lock)
        {
            if (!IsDirect)
            {
                return true;
            }

            _turn = SendTurn.Awaited;
            return false;
        }
    }

    /// <summary>Sends what is queued, or leaves it to the loop if that has the turn or something is lent. Any thread.</summary>
    internal void SendFlushed()
    {
        SendSegment? first;
        bool ask;
        lock (_lock)
        {
            first = TakeForDirectSend();
            ask = first is null && _turn == SendTurn.Free && _queuedFirst is not null;
        }

        if (first is not null ? SendDirectly(first) : ask)
        {
            _send(false);
        }
    }

    /// <summary>
    /// Takes the turn and all that is queued, if nobody has the turn and all of it is memory of ours: to give back what is lent runs code of
    /// its owner, for which a flush is no place. Under the lock.
    /// </summary>
    private SendSegment? TakeForDirectSend()
    {
        if (_turn != SendTurn.Free || _dead)
        {
            return null;
        }

        int count = 0;
        for (SendSegment? segment = _queuedFirst; segment is not null; segment = segment.Next)
        {
            if (segment.IsZeroCopy || ++count > SubmissionQueue.MaxGatherSegments)
            {
                return null;
            }
        }

        SendSegment? first = _queuedFirst;
        if (first is not null)
        {
            _queuedFirst = null;
            _queuedLast = null;
            _turn = SendTurn.Direct;
        }

        return first;
    }

    /// <summary>Sends what there is room for, and ends the turn; true if the connection has to be asked to send.</summary>
    private bool SendDirectly(SendSegment first)
    {
        ReadOnlyMemory<byte>[] list = s_gatherList ??= new ReadOnlyMemory<byte>[SubmissionQueue.MaxGatherSegments];
        int count = 0;
        SendSegment last = first;
        for (SendSegment? segment = first; segment is not null; segment = segment.Next)
        {
            list[count++] = segment.Unsent;
            last = segment;
        }

        int result = _loop.SendNow(_socket, list.AsSpan(0, count));
        list.AsSpan(0, count).Clear();
        SendSegment? rest = DropSent(first, Math.Max(0, result));

        bool ask;
        EndedWaits ended;
        SendSegment? dropped = null;
        lock (_lock)
        {
            if (IsFinal(result))
            {
                Volatile.Write(ref _directError, -result);
            }

            ended = EndWaitsAfter(Math.Max(0, result));
            if (rest is not null && _dead)
            {
                dropped = rest;
            }
            else if (rest is not null)
            {
                last.Next = _queuedFirst; // Behind it is what was flushed meanwhile.
                _queuedFirst = rest;
                _queuedLast ??= last;
            }

            ask = _turn == SendTurn.Awaited || _queuedFirst is not null;
            _turn = SendTurn.Free;
        }

        Release(dropped);
        Schedule(ended);
        return ask;
    }

    /// <summary>
    /// Whether a send beside the ring met the connection's end. Where there is no room, and what passes, are met again by the loop's own send,
    /// which waits for it.
    /// </summary>
    internal static bool IsFinal(int result) =>
        result < 0 && (Errno)(-result) is not (Errno.EAGAIN or Errno.EINTR or Errno.ENOMEM or Errno.ENOBUFS);
}
