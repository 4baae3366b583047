using IoUringCache.Ring;

namespace IoUringCache.Transport.Internal.Buffers;

/// <summary>
/// One group of a loop's provided buffers. A buffer belongs to the kernel until a completion names it, then to the
/// reader until release. Owned by the loop.
/// </summary>
internal sealed class ReceiveBuffers : IReceiveBufferOwner
{
    private const ushort SmallGroup = 0;
    internal const ushort LargeGroup = 1;

    /// <summary>2 MiB in all, used only by bodies that arrive at the same time.</summary>
    private const int LargeCount = 32;
    private const int LargeBytes = 64 * 1024;
    private const int LargeWeight = 4;

    /// <summary>The kernel cycles through all its buffers, so fewer use less memory.</summary>
    private const int CountAtStart = 64;

    private readonly ProvidedBufferRing _ring;
    private readonly ReceivedSegment?[] _segments;
    private readonly Action _wakeLoop;
    private readonly int _scarceBelow;
    private readonly int _recoveredAt;
    private int _starving;

    /// <summary>Buffers provided ahead of the receives they are meant for. Loop thread.</summary>
    private int _providedAhead;

    private ReceiveBuffers(ProvidedBufferRing ring, int weight, Action wakeLoop)
    {
        Weight = weight;
        _ring = ring;
        _wakeLoop = wakeLoop;
        _scarceBelow = Math.Max(1, ring.Count / 4);
        _recoveredAt = Math.Max(1, ring.Count / 8);
        _segments = new ReceivedSegment?[ring.Count];
    }

    internal ushort Group => _ring.Group;

    internal int BufferSize => _ring.BufferSize;

    public int Weight { get; }

    /// <summary>Buffers that readers hold. Any thread.</summary>
    internal int AcquiredCount => _ring.Count - _ring.AvailableCount;

    /// <summary>True when under a quarter are free; starved receives so always get some again. Any thread.</summary>
    public bool IsScarce => _ring.AvailableCount < _scarceBelow;

    /// <summary>Whether starved receives may be armed again. Any thread.</summary>
    internal bool HasRecovered => _ring.AvailableCount >= _recoveredAt;

    /// <summary>Registers the buffers of multishot receives. Loop thread, at its start.</summary>
    /// <param name="ring">The loop's ring.</param>
    /// <param name="count">Buffers, a power of two.</param>
    /// <param name="size">Bytes of each buffer.</param>
    /// <param name="wakeLoop">Called from any thread when released buffers end a starvation.</param>
    internal static ReceiveBuffers Small(KernelRing ring, int count, int size, Action wakeLoop) =>
        new(ring.RegisterBuffers(SmallGroup, count, size, Math.Min(count, CountAtStart)), weight: 1, wakeLoop);

    /// <summary>Registers the buffers of large receives. No receive waits for these.</summary>
    internal static ReceiveBuffers Large(KernelRing ring) =>
        new(ring.RegisterBuffers(LargeGroup, LargeCount, LargeBytes), LargeWeight, static () => { });

    /// <summary>Takes a buffer with <paramref name="length"/> received bytes. Loop thread.</summary>
    internal ReceivedSegment Acquire(int bufferId, int length)
    {
        ReceivedSegment segment = _segments[bufferId] ??= new ReceivedSegment(this, bufferId);
        segment.Fill(_ring.Acquire(bufferId), length);
        return segment;
    }

    public void Release(int bufferId)
    {
        _ring.Release(bufferId);

        // The loop sets the flag, then reads the count; this thread raises the count, then reads the flag. Both writes
        // are interlocked, so full fences: one of the two sees the other's.
        if (Volatile.Read(ref _starving) != 0 && HasRecovered)
        {
            _wakeLoop();
        }
    }

    /// <summary>Provides another buffer for a receive that ran out of them. Loop thread.</summary>
    /// <returns>False when the kernel has all of them.</returns>
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

    /// <summary>From now on, a release wakes the loop. Loop thread.</summary>
    internal void BeginStarvation() => Interlocked.Exchange(ref _starving, 1);

    internal void EndStarvation() => Volatile.Write(ref _starving, 0);
}
