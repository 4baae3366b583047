using System.Diagnostics;
using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The flushed bytes of one connection, and who may send them (<see cref="SendState"/>): the loop
/// (<see cref="Sender"/>), or directly and without waiting a thread whose flush would have to wait, or a thread of the
/// pool for many flushes (<see cref="FlushQueue"/>).
/// <para>
/// Owner of a segment: the queue, from the flush on; the thread that took it, and the kernel from the submission to the
/// final completion, cancelled or not; then the pool. <see cref="Close"/> drops what is queued; a thread that sends
/// directly drops what it took; <see cref="ReleaseTaken"/> drops what the loop took, after the completion if any.
/// </para>
/// One lock guards the queue and the writer's waits; no continuation runs under it. Owned by the connection.
/// </summary>
/// <param name="loop">The connection's loop.</param>
/// <param name="socket">The connection's descriptor, open while a direct send may run.</param>
/// <param name="pauseAt">Flushed and unsent bytes at which a flush waits; it goes on below half of them.</param>
internal sealed class SendQueue(EventLoop loop, int socket, long pauseAt)
{
    /// <summary>Free bytes behind a queued segment that are worth a segment of their own.</summary>
    private const int MinSharedLength = 256;

    private readonly long _resumeBelow = Math.Max(1, pauseAt / 2);

    private SendSegment? _first;
    private SendSegment? _last;

    /// <summary>Bytes flushed and not yet sent, those of the send in flight included.</summary>
    private long _unsentBytes;

    /// <summary>From <c>pauseAt</c> unsent bytes until fewer than <see cref="_resumeBelow"/> are left.</summary>
    private bool _isFull;

    private bool _isClosed;
    private int _directError;

    internal Lock Lock { get; } = new();

    /// <summary>The writer's flush, ended when there is space again. Set once, before use.</summary>
    internal PendingCall<FlushResult>? Flush { get; set; }

    /// <summary>The zero-copy wait beside the flush, ended as the flush is. Set once, under the lock.</summary>
    internal PendingCall<bool>? SpaceWait { get; set; }

    /// <summary>Whether nothing more will be sent. Any thread.</summary>
    internal bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Whether a flush has to wait, unless a direct send comes first. Under the lock.</summary>
    internal bool MustWait => !_isClosed && (_isFull || _unsentBytes >= pauseAt);

    /// <summary>Why a direct send failed for good, 0 if none did; set before the loop is asked. Loop thread.</summary>
    internal Errno DirectError => (Errno)Volatile.Read(ref _directError);

    /// <summary>Loop thread; another thread only sees whether the loop sends.</summary>
    internal SendState State { get; private set; }

    /// <summary>What the loop has taken and not sent; null for nothing. Loop thread.</summary>
    internal SendSegment? Taken { get; private set; }

    /// <summary>Whether a range of a file follows what was taken. Loop thread.</summary>
    internal bool IsFileNext { get; private set; }

    /// <summary>Whether bytes are queued; a flush that queues more asks the loop afterwards. Loop thread.</summary>
    internal bool HasQueued => Volatile.Read(ref _first) is not null;

    private bool IsDirect => State is SendState.Direct or SendState.DirectAwaited;

    /// <summary>
    /// A segment over the free rest of what is queued last, or null. Flushes that are faster than the loop so fill the
    /// same memory, and leave as one piece. Application's thread.
    /// </summary>
    internal SendSegment? TryRentRest(int sizeHint)
    {
        if (Volatile.Read(ref _last) is null)
        {
            return null;
        }

        lock (Lock)
        {
            return _last?.FreeLength >= Math.Max(sizeHint, MinSharedLength) ? loop.SendSegments.RentRestOf(_last) : null;
        }
    }

    /// <summary>Queues flushed segments; false if the queue is closed. Under the lock.</summary>
    /// <param name="first">The first segment; null if there is none.</param>
    /// <param name="last">The last segment.</param>
    /// <param name="bytes">Bytes in all of them.</param>
    /// <param name="unused">Segments that are not needed any more; the caller releases them after the lock.</param>
    internal bool TryEnqueue(SendSegment? first, SendSegment? last, long bytes, out SendSegment? unused)
    {
        if (_isClosed)
        {
            unused = first;
            return false;
        }

        unused = null;
        _unsentBytes += bytes;
        if (_last?.TryJoin(first!) == true)
        {
            unused = first;
            first = first!.Next;
            unused!.Next = null;
        }

        if (first is null)
        {
            return true;
        }

        if (_last is null)
        {
            _first = first;
        }
        else
        {
            _last.Next = first;
        }

        _last = last;
        return true;
    }

    /// <summary>
    /// Decides that waits last until there is space, if too much is unsent. Under the lock, after a direct send.
    /// </summary>
    internal void UpdateIsFull() => _isFull |= _unsentBytes >= pauseAt;

    /// <summary>
    /// Takes all that is queued for <see cref="SendDirectly"/>, if no thread sends and all of it is the transport's own
    /// memory: to release zero-copy memory runs code of its owner, which must not happen inside a flush. Under the
    /// lock.
    /// </summary>
    /// <returns>The first segment, or null.</returns>
    internal SendSegment? TakeForDirectSend()
    {
        if (State != SendState.Idle || _isClosed)
        {
            return null;
        }

        int count = 0;
        for (SendSegment? segment = _first; segment is not null; segment = segment.Next)
        {
            if (segment.IsZeroCopy || ++count > SubmissionQueue.MaxGatherSegments)
            {
                return null;
            }
        }

        SendSegment? first = _first;
        if (first is not null)
        {
            _first = null;
            _last = null;
            State = SendState.Direct;
        }

        return first;
    }

    /// <summary>
    /// Sends what fits into the socket, puts back the rest, and goes back to Idle. The thread that took the segments.
    /// </summary>
    /// <returns>Whether the caller has to ask the loop to send.</returns>
    internal bool SendDirectly(SendSegment first)
    {
        int result = SendNow(first, finFollows: false);
        SendSegment? rest = loop.SendSegments.ReturnSent(first, Math.Max(0, result));
        SendSegment? dropped = null;
        bool ask;
        (bool, bool) ended;
        lock (Lock)
        {
            if (IsFinal(result))
            {
                Volatile.Write(ref _directError, -result);
            }

            ended = EndWaitsAfter(Math.Max(0, result));
            if (_isClosed)
            {
                dropped = rest;
            }
            else if (rest is not null)
            {
                PutBack(rest);
            }

            ask = State == SendState.DirectAwaited || _first is not null;
            State = SendState.Idle;
        }

        loop.SendSegments.ReturnAll(dropped);
        Schedule(ended);
        return ask;
    }

    /// <summary>Sends what is queued directly, or leaves it to the loop. A thread of the pool.</summary>
    /// <returns>Whether the caller has to ask the loop to send.</returns>
    internal bool SendFlushed()
    {
        SendSegment? first;
        bool ask;
        lock (Lock)
        {
            first = TakeForDirectSend();
            ask = State == SendState.Idle && _first is not null;
        }

        return first is not null ? SendDirectly(first) : ask;
    }

    /// <summary>
    /// Whether no other thread sends; if one does, it asks the loop when its send is over. Loop thread.
    /// </summary>
    internal bool TryAwaitDirect()
    {
        lock (Lock)
        {
            if (IsDirect)
            {
                State = SendState.DirectAwaited;
            }

            return !IsDirect;
        }
    }

    /// <summary>
    /// Takes what one send can carry: a range of a file, or the memory up to the next one. Nothing if something is
    /// taken already. False if another thread sends, which asks the loop when its send is over. Loop thread.
    /// </summary>
    /// <param name="maxSegments">1 to <see cref="SubmissionQueue.MaxGatherSegments"/>.</param>
    internal bool TryTake(int maxSegments = SubmissionQueue.MaxGatherSegments)
    {
        if (Taken is not null)
        {
            return true;
        }

        lock (Lock)
        {
            if (IsDirect)
            {
                State = SendState.DirectAwaited;
                return false;
            }

            if (_first is not { } last)
            {
                return true;
            }

            State = SendState.Taken;
            Taken = last;
            for (int count = 1; count < maxSegments && Taken.File is null && last.Next is { File: null } next; count++)
            {
                last = next;
            }

            _first = last.Next;
            _last = _first is null ? null : _last;
            last.Next = null;
            IsFileNext = _first is { File: not null };
            return true;
        }
    }

    /// <summary>The loop goes on to another state of its own. Loop thread.</summary>
    internal void MoveTo(SendState state)
    {
        Debug.Assert(State >= SendState.Taken && state >= SendState.Taken, "The loop changes only states that are its own.");
        State = state;
    }

    /// <summary>
    /// Releases what was sent of <see cref="Taken"/>; a flush that waits goes on if enough was. Loop thread.
    /// </summary>
    internal void OnSent(int bytes)
    {
        Taken = loop.SendSegments.ReturnSent(Taken, bytes);
        (bool, bool) ended;
        lock (Lock)
        {
            if (Taken is null)
            {
                State = SendState.Idle;
            }

            ended = EndWaitsAfter(bytes);
        }

        Schedule(ended);
    }

    /// <summary>
    /// Releases <see cref="Taken"/>, which the kernel has let go of. After <see cref="Close"/>. Loop thread.
    /// </summary>
    internal void ReleaseTaken()
    {
        loop.SendSegments.ReturnAll(Taken);
        Taken = null;
    }

    /// <summary>
    /// Drops what is queued and ends the waits: every flush from now on reports completion. Loop thread.
    /// </summary>
    internal void Close()
    {
        SendSegment? dropped;
        (bool, bool) ended;
        lock (Lock)
        {
            Volatile.Write(ref _isClosed, true);
            dropped = _first;
            _first = null;
            _last = null;
            ended = EndWaits();
        }

        loop.SendSegments.ReturnAll(dropped);
        Schedule(ended);
    }

    /// <summary>
    /// Ends the waits. Under the lock; after it, the caller passes the result to <see cref="Schedule"/>.
    /// </summary>
    internal (bool Flush, bool Space) EndWaits() => (Flush?.TryEndWait() == true, SpaceWait?.TryEndWait() == true);

    /// <summary>Schedules the continuations of ended waits. Not under the lock.</summary>
    internal void Schedule((bool Flush, bool Space) ended)
    {
        if (ended.Flush)
        {
            Flush!.Schedule();
        }

        if (ended.Space)
        {
            SpaceWait!.Schedule();
        }
    }

    /// <summary>Sends segments in one call that does not wait. The thread that took them.</summary>
    /// <param name="first">The first of them.</param>
    /// <param name="finFollows">Whether the kernel may hold the bytes until the FIN that comes next.</param>
    /// <returns>Bytes sent, or a negative <see cref="Errno"/>.</returns>
    internal int SendNow(SendSegment first, bool finFollows)
    {
        Span<ReadOnlyMemory<byte>> list = GatherList.Of(first);
        int result = loop.SendNow(socket, list, moreFollows: finFollows);
        list.Clear();
        return result;
    }

    /// <summary>
    /// Whether a send beside the ring found the connection broken. Other errors come back at the loop's own send, which
    /// waits for what is missing.
    /// </summary>
    internal static bool IsFinal(int result) =>
        result < 0 && (Errno)(-result) is not (Errno.EAGAIN or Errno.EINTR or Errno.ENOMEM or Errno.ENOBUFS);

    /// <summary>Puts the rest of a direct send before what was flushed meanwhile. Under the lock.</summary>
    private void PutBack(SendSegment rest)
    {
        SendSegment last = rest;
        while (last.Next is { } next)
        {
            last = next;
        }

        last.Next = _first;
        _first = rest;
        _last ??= last;
    }

    /// <summary>
    /// Counts sent bytes, and ends the waits if there is space again. Under the lock; after it, <see cref="Schedule"/>.
    /// </summary>
    private (bool Flush, bool Space) EndWaitsAfter(int sentBytes)
    {
        _unsentBytes -= sentBytes;
        if (_unsentBytes >= _resumeBelow)
        {
            return default;
        }

        _isFull = false;
        return EndWaits();
    }
}
