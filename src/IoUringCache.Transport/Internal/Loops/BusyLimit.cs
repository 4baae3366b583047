namespace IoUringCache.Transport.Internal.Loops;

/// <summary>
/// Counts a loop's busy connections: those whose application has received bytes and not asked for more. Any thread
/// counts; the loop compares the count with the limit once a turn. Owned by its loop.
/// </summary>
/// <param name="pauseAbove">Busy connections, 1 or more, above which it takes no new ones, until half are left.</param>
/// <param name="wakeLoop">Wakes the loop to compare again. Called on any thread.</param>
internal sealed class BusyLimit(int pauseAbove, Action wakeLoop)
{
    private readonly int _resumeAt = pauseAbove / 2;
    private int _count;
    private bool _isOver;

    /// <summary>Called after <see cref="IsOver"/> has changed; loop thread. Set before the start.</summary>
    internal Action? CapacityChanged { get; set; }

    /// <summary>Connections that are busy. Any thread.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Whether the count was above the limit, and has not fallen to half of it since. Any thread.</summary>
    internal bool IsOver => Volatile.Read(ref _isOver);

    /// <summary>
    /// Whether the next <see cref="Measure"/> ends the pause, so the loop must not sleep. Loop thread.
    /// </summary>
    internal bool HasRecovered => _isOver && Count <= _resumeAt;

    /// <summary>A connection has become busy. Any thread.</summary>
    internal void Add() => Interlocked.Increment(ref _count);

    /// <summary>A connection is busy no more. Any thread.</summary>
    internal void Remove()
    {
        // The loop sets the flag, announces its sleep by a full fence, then reads the count. This thread lowers the
        // count, a full fence too, then reads the flag and the sleep: one of the two sees the other's. Only the step to
        // half counts: if the loop read before it, the count was above half, and the flag was set.
        if (Interlocked.Decrement(ref _count) == _resumeAt && IsOver)
        {
            wakeLoop();
        }
    }

    /// <summary>Compares the count with the limit. Loop thread, once a turn.</summary>
    internal void Measure()
    {
        bool isOver = _isOver ? !HasRecovered : Count > pauseAbove;
        if (isOver != _isOver)
        {
            Volatile.Write(ref _isOver, isOver);
            CapacityChanged?.Invoke();
        }
    }
}
