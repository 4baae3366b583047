using System.Diagnostics;
using System.IO.Pipelines;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Buffers;
using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// The flushed bytes of one connection; <see cref="SendState"/> says who may send them. One lock guards it and the
/// writer's waits, and no continuation runs under it; owned by the connection.
/// </summary>
/// <remarks>
/// A segment belongs to the queue from its flush; then to the thread that took it, and to the kernel from the
/// submission to the final completion, cancelled or not; then to the pool. <see cref="Stop"/> drops what is queued, a
/// direct sender drops what it took, and <see cref="ReleaseLoopSegments"/> drops what the loop took, after any
/// completion.
/// </remarks>
/// <param name="loop">The connection's loop.</param>
/// <param name="socket">The connection's descriptor, open while a direct send may run.</param>
/// <param name="pauseAt">Unsent bytes at which a flush waits, 1 or more; it resumes below half of them.</param>
internal sealed class SendQueue(EventLoop loop, int socket, long pauseAt)
{
    /// <summary>The least free bytes worth a segment of their own.</summary>
    private const int MinSharedLength = 256;

    private readonly long _resumeBelow = Math.Max(1, pauseAt / 2);

    private SendSegment? _first;
    private SendSegment? _last;

    /// <summary><see cref="UnsentBytes"/>. Written under the lock.</summary>
    private long _unsentBytes;

    /// <summary>From <c>pauseAt</c> unsent bytes until fewer than <see cref="_resumeBelow"/>.</summary>
    private bool _isFull;

    private bool _isClosed;
    private int _directError;

    internal Lock Lock { get; } = new();

    /// <summary>The writer's flush. Set once, before use.</summary>
    internal PendingCall<FlushResult>? FlushCall { get; set; }

    /// <summary>The zero-copy wait beside the flush. Set once, under the lock.</summary>
    internal PendingCall<bool>? SpaceCall { get; set; }

    /// <summary>Whether the queue sends nothing more. Any thread.</summary>
    internal bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Bytes flushed and not yet sent, including the send in flight. Any thread.</summary>
    internal long UnsentBytes => Volatile.Read(ref _unsentBytes);

    /// <summary>Whether a flush has to wait, unless a direct send comes first. Under the lock.</summary>
    internal bool MustWait => !_isClosed && (_isFull || _unsentBytes >= pauseAt);

    /// <summary>The final error of a direct send, or 0; set before the loop is asked. Loop thread.</summary>
    internal Errno DirectError => (Errno)Volatile.Read(ref _directError);

    /// <summary>Loop thread; other threads only see whether the loop sends.</summary>
    internal SendState State { get; private set; }

    /// <summary>Segments that the loop took and has not sent, or null. Loop thread.</summary>
    internal SendSegment? LoopSegments { get; private set; }

    /// <summary>Whether a file range follows <see cref="LoopSegments"/>. Loop thread.</summary>
    internal bool IsFileNext { get; private set; }

    /// <summary>Whether bytes are queued; a later flush asks the loop. Loop thread.</summary>
    internal bool HasQueued => Volatile.Read(ref _first) is not null;

    private bool IsDirect => State is SendState.Direct or SendState.DirectAwaited;

    /// <summary>Rents the free rest of the last queued segment, or returns null. Application's thread.</summary>
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

    /// <summary>Queues a list of flushed segments; false if the queue is closed. Under the lock.</summary>
    /// <param name="first">The first segment; at least one has bytes.</param>
    /// <param name="last">The last segment, which may be the first.</param>
    /// <param name="bytes">Bytes in all of them, 1 or more.</param>
    /// <param name="unused">Segments that the caller releases after the lock.</param>
    internal bool TryEnqueue(SendSegment first, SendSegment last, long bytes, out SendSegment? unused)
    {
        if (_isClosed)
        {
            unused = first;
            return false;
        }

        unused = null;
        _unsentBytes += bytes;
        SendSegment? rest = first;
        if (_last?.TryJoin(first) == true)
        {
            unused = first;
            rest = first.Next;
            first.Next = null;
        }

        if (rest is null)
        {
            return true;
        }

        if (_last is null)
        {
            _first = rest;
        }
        else
        {
            _last.Next = rest;
        }

        _last = last;
        return true;
    }

    /// <summary>Makes waits last until there is space. Under the lock, after a direct send.</summary>
    internal void UpdateIsFull() => _isFull |= _unsentBytes >= pauseAt;

    /// <summary>
    /// Takes all that is queued for <see cref="SendDirectly"/>, or null. It takes no zero-copy memory, whose release
    /// would run its owner's code inside a flush. Under the lock.
    /// </summary>
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

    /// <summary>Sends what fits into the socket and puts back the rest. The thread that took the segments.</summary>
    /// <returns>Whether the caller must ask the loop to send.</returns>
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

    /// <summary>Sends what is queued, or leaves it to the loop. A thread of the pool.</summary>
    /// <returns>Whether the caller must ask the loop to send.</returns>
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

    /// <summary>True if no other thread sends; otherwise that thread asks the loop afterwards. Loop thread.</summary>
    internal bool TryRuleOutDirect()
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
    /// Takes a file range, or the memory up to the next one, unless segments are taken already. False during a direct
    /// send, whose thread asks the loop afterwards. Loop thread.
    /// </summary>
    /// <param name="maxSegments">1 to <see cref="SubmissionQueue.MaxGatherSegments"/>.</param>
    internal bool TryTake(int maxSegments = SubmissionQueue.MaxGatherSegments)
    {
        if (LoopSegments is not null)
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
            LoopSegments = last;
            for (int count = 1; count < maxSegments && LoopSegments.File is null && last.Next is { File: null } next; count++)
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

    /// <summary>Sets another of the loop's own states. Loop thread.</summary>
    internal void MoveTo(SendState state)
    {
        Debug.Assert(State >= SendState.Taken && state >= SendState.Taken, "The loop changes only states that are its own.");
        State = state;
    }

    /// <summary>
    /// Releases the sent bytes of <see cref="LoopSegments"/>; ends the waits if there is space. Loop thread.
    /// </summary>
    internal void OnSent(int bytes)
    {
        LoopSegments = loop.SendSegments.ReturnSent(LoopSegments, bytes);
        (bool, bool) ended;
        lock (Lock)
        {
            if (LoopSegments is null)
            {
                State = SendState.Idle;
            }

            ended = EndWaitsAfter(bytes);
        }

        Schedule(ended);
    }

    /// <summary>Releases <see cref="LoopSegments"/>, which the kernel no longer uses. After a close. Loop thread.</summary>
    internal void ReleaseLoopSegments()
    {
        loop.SendSegments.ReturnAll(LoopSegments);
        LoopSegments = null;
    }

    /// <summary>Drops what is queued and ends the waits; later flushes report completion. Loop thread.</summary>
    internal void Stop()
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

    /// <summary>Ends the waits; <see cref="Schedule"/> takes the result after the lock. Under the lock.</summary>
    internal (bool Flush, bool Space) EndWaits() => (FlushCall?.TryEndWait() == true, SpaceCall?.TryEndWait() == true);

    /// <summary>Schedules the continuations of ended waits. Not under the lock.</summary>
    internal void Schedule((bool Flush, bool Space) ended)
    {
        if (ended.Flush)
        {
            FlushCall!.Schedule();
        }

        if (ended.Space)
        {
            SpaceCall!.Schedule();
        }
    }

    /// <summary>Sends segments in one call that does not wait. The thread that took them.</summary>
    /// <param name="first">The first of at most <see cref="SubmissionQueue.MaxGatherSegments"/> segments.</param>
    /// <param name="finFollows">Whether the kernel may hold the bytes until the FIN.</param>
    /// <returns>Bytes sent, or a negative <see cref="Errno"/>.</returns>
    internal int SendNow(SendSegment first, bool finFollows)
    {
        Span<ReadOnlyMemory<byte>> list = GatherList.Of(first);
        int result = loop.SendNow(socket, list, moreFollows: finFollows);
        list.Clear();
        return result;
    }

    /// <summary>
    /// Whether a direct send found the connection broken. The loop's send meets any other error again.
    /// </summary>
    internal static bool IsFinal(int result) =>
        result < 0 && (Errno)(-result) is not (Errno.EAGAIN or Errno.EINTR or Errno.ENOMEM or Errno.ENOBUFS);

    /// <summary>Puts the rest of a direct send in front of later flushes. Under the lock.</summary>
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

    /// <summary>Counts sent bytes; ends the waits below <see cref="_resumeBelow"/>. Under the lock.</summary>
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
