namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// The backlog of one loop: its busy connections, of which the application has got bytes and has not asked for more since. Those are
/// requests that were accepted and are not completed. Counted by any thread as it happens, compared with the marks by the loop's own, once
/// a turn, when all that has come is delivered and nothing of it is done: where the loop runs the application, the number in between says
/// how far the turn is, and not how much there is to do. Owned by its loop.
/// </summary>
/// <param name="marks">What it is compared with.</param>
/// <param name="wakeLoop">Called from any thread when the loop has to look, and may sleep.</param>
internal sealed class LoopBacklog(BacklogMarks marks, Action wakeLoop)
{
    private int _count;
    private bool _isOver;

    /// <summary>Called after <see cref="IsOver"/> has changed; loop thread. Set before the start.</summary>
    internal Action? RoomChanged { get; set; }

    /// <summary>Connections that are busy. Any thread.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>It was above the high mark, and has not been below the low one since. Any thread.</summary>
    internal bool IsOver => Volatile.Read(ref _isOver);

    /// <summary>Whether the next <see cref="Measure"/> finds room: the loop must not sleep before that. Loop thread.</summary>
    internal bool HasRecovered => _isOver && Count < marks.Low;

    /// <summary>A connection has become busy. Any thread.</summary>
    internal void Add() => Interlocked.Increment(ref _count);

    /// <summary>A connection is busy no more. Any thread.</summary>
    internal void Remove()
    {
        // The loop sets the flag and, when it has announced its sleep by a full fence, looks at the count. This thread lowers the count, a
        // full fence too, and then looks at the flag and at the sleep: one of the two sees the other's. Only the step below the mark
        // counts. If the loop's look came before it, the count was not below the mark yet, and the flag was set.
        if (Interlocked.Decrement(ref _count) == marks.Low - 1 && IsOver)
        {
            wakeLoop();
        }
    }

    /// <summary>Compares with the marks. Loop thread, once a turn.</summary>
    internal void Measure()
    {
        bool isOver = _isOver ? !HasRecovered : Count > marks.High;
        if (isOver != _isOver)
        {
            Volatile.Write(ref _isOver, isOver);
            RoomChanged?.Invoke();
        }
    }
}
