using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// Provided buffers of one loop, its many small or its few large ones, as segments of a reader's data. A buffer belongs to the kernel until
/// a completion names it, then to the reader that got it, until that returns it. The loop's thread lends; any thread returns. Owned by the loop.
/// </summary>
internal sealed class ReceiveBuffers : IReceiveBufferOwner
{
    private const ushort SmallGroup = 0;
    internal const ushort LargeGroup = 1;

    /// <summary>2 MiB in all, of which a loop has in use what the few connections do whose bodies come in at once.</summary>
    private const int LargeCount = 32;
    private const int LargeBytes = 64 * 1024;
    private const int LargeCountsAs = 4;

    /// <summary>Enough for connections by the dozen. The kernel uses in turn all that it has, so fewer buffers are less memory in use.</summary>
    private const int CountAtStart = 64;

    private readonly ProvidedBufferRing _ring;
    private readonly ReceivedSegment[] _segments;
    private readonly Action _wakeLoop;
    private readonly int _scarceBelow;
    private readonly int _recoveredAt;
    private int _starving;

    /// <summary>Buffers that the kernel was given later than at the start and that no receive was armed for. Loop thread.</summary>
    private int _providedAhead;

    private ReceiveBuffers(ProvidedBufferRing ring, int countsAs, Action wakeLoop)
    {
        CountsAs = countsAs;
        _ring = ring;
        _wakeLoop = wakeLoop;
        _scarceBelow = Math.Max(1, ring.Count / 4);
        _recoveredAt = Math.Max(1, ring.Count / 8);
        _segments = new ReceivedSegment[ring.Count];
        for (int id = 0; id < _segments.Length; id++)
        {
            _segments[id] = new ReceivedSegment(this, id);
        }
    }

    /// <summary>The number by which receives name these buffers.</summary>
    internal ushort Group => _ring.Group;

    /// <summary>Bytes of each.</summary>
    internal int BufferSize => _ring.BufferSize;

    /// <summary>How much one of them is of what a connection may hold.</summary>
    public int CountsAs { get; }

    /// <summary>Buffers that readers hold. Any thread.</summary>
    internal int LentCount => _ring.Count - _ring.AvailableCount;

    /// <summary>
    /// So few buffers are left that a reader must copy and give back at once. Three quarters at most are ever held, so a receive that
    /// ended for lack of buffers always gets some again.
    /// </summary>
    public bool IsScarce => _ring.AvailableCount < _scarceBelow;

    /// <summary>Whether receives that ended for lack of buffers may start again.</summary>
    internal bool HasRecovered => _ring.AvailableCount >= _recoveredAt;

    /// <summary>The buffers of a loop's multishot receives. Its thread, when it starts.</summary>
    /// <param name="ring">The loop's.</param>
    /// <param name="count">A power of two.</param>
    /// <param name="size">Bytes of each.</param>
    /// <param name="wakeLoop">Called from any thread when buffers came back that starved receives wait for.</param>
    internal static ReceiveBuffers Small(KernelRing ring, int count, int size, Action wakeLoop) =>
        new(ring.RegisterBuffers(SmallGroup, count, size, Math.Min(count, CountAtStart)), countsAs: 1, wakeLoop);

    /// <summary>The buffers of its large receives. Nobody waits for these.</summary>
    internal static ReceiveBuffers Large(KernelRing ring) =>
        new(ring.RegisterBuffers(LargeGroup, LargeCount, LargeBytes), LargeCountsAs, static () => { });

    /// <summary>Takes the buffer that a completion named. Loop thread.</summary>
    /// <param name="bufferId">The buffer.</param>
    /// <param name="length">Bytes received into it.</param>
    internal ReceivedSegment Lend(int bufferId, int length)
    {
        ReceivedSegment segment = _segments[bufferId];
        segment.Fill(_ring.Acquire(bufferId), length);
        return segment;
    }

    /// <summary>Gives a buffer back to the kernel. Any thread.</summary>
    public void Return(int bufferId)
    {
        _ring.Release(bufferId);

        // The loop sets the flag and then looks at the count; this thread raised the count and now looks at the flag. Both changes are
        // interlocked operations, so full fences: one of the two sees the other's.
        if (Volatile.Read(ref _starving) != 0 && HasRecovered)
        {
            _wakeLoop();
        }
    }

    /// <summary>
    /// Has a buffer for a receive that ended for lack of them, if the kernel was given only a part of them so far. It gets more by the
    /// dozen, and each is for one such receive; how many are free at the moment says nothing, for those that came back are taken by then by
    /// receives that did not end. Loop thread.
    /// </summary>
    internal bool TryProvideOne()
    {
        if (_providedAhead == 0)
        {
            int provided = _ring.ProvidedCount;
            if (!_ring.TryProvideMore())
            {
                return false;
            }

            _providedAhead = _ring.ProvidedCount - provided;
        }

        _providedAhead--;
        return true;
    }

    /// <summary>From now on whoever returns buffers wakes the loop. Loop thread.</summary>
    internal void BeginStarvation() => Interlocked.Exchange(ref _starving, 1);

    /// <summary>Receives are armed again. Loop thread.</summary>
    internal void EndStarvation() => Volatile.Write(ref _starving, 0);
}
